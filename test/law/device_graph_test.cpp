// Graphs on a device: inferred, differentiated, rewritten and cut as on the CPU, run by the oracle
// and by a backend for the device; everything that would run them on the CPU instead is an error.
#include <gtest/gtest.h>

#include <algorithm>

#include "cut/default_partition.h"
#include "exec/executable.h"
#include "exec/measure_call.h"
#include "grad/grad.h"
#include "inspect/program_traffic.h"
#include "interp/array_memory.h"
#include "interp/interpret.h"
#include "interp/moved_oracle.h"
#include "ir/host_operands.h"
#include "ir/print.h"
#include "ir/strides.h"
#include "pass/pipeline.h"
#include "test/random_inputs.h"
#include "test/sample/device_graph.h"
#include "test/sample/fake_device.h"

namespace cleave::random {
namespace {

using test::core;
using test::parsed;

constexpr Device cuda{DeviceKind::cuda, 0};

// The first value that isn't on the device; empty: all are.
std::string elsewhere(const Graph& g) {
  for (const Placeholder& p : g.placeholders())
    if (p.role != Role::symint && g.type(p.value).device != cuda) return g.name(p.value);
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n))
    for (const Type& t : g.output_types(n))
      if (!t.is_none && t.device != cuda) return print_node(g, n);
  return "";
}

Arrays by_oracle(const RandomGraph& r) {
  std::vector<const Array*> inputs;
  for (const Array& a : r.inputs) inputs.push_back(&a);
  return value_or_throw(interpret(r.g, inputs));
}

std::string refusal(const Status& s) {
  if (s.ok()) return "nothing";
  return s.failure().kind == ErrorKind::unsupported ? s.failure().message : "another kind";
}

Status compiled(const Graph& g) {
  StageOptions options;
  options.compiler = CompilerChoice::none;
  const auto program = CompiledProgram::compile(g, core(), options);
  return program.ok() ? Status() : Status(program.failure());
}

// The results of a program whose memory is the device's.
Result<Arrays> by_device(const RandomGraph& r, const test::FakeDevice& device) {
  StageOptions options;
  options.device = cuda;
  options.backend = device.backend;
  CLEAVE_TRY(const auto program, CompiledProgram::compile(r.g, core(), options));
  CLEAVE_TRY(const auto run, Instance::make(program, nullptr));
  std::vector<std::vector<std::byte>> memory;
  for (size_t k = 0; k < r.inputs.size(); ++k) {
    const Type& t = r.g.type(r.g.placeholders()[k].value);
    memory.emplace_back(static_cast<size_t>(memory_bytes(t)) + 1);
    to_memory(r.inputs[k], t, memory.back().data());
    CLEAVE_CHECK(run->bind(k, std::span(memory.back())));
  }
  CLEAVE_CHECK(run->run());
  Arrays out;
  for (size_t k = 0; k < r.g.returns().size(); ++k)
    out.push_back(from_memory(returned_type(r.g, k), run->result(k)));
  return out;
}

TEST(DeviceGraphs, every_stage_before_lowering_keeps_the_device) {
  int joints = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const RandomGraph r = value_or_throw(random_graph(core(), seed, {.max_nodes = 20}));
    const RandomGraph far = value_or_throw(with_devices(r));
    ASSERT_TRUE(verify(far.g).ok()) << "seed " << seed << ": " << verify(far.g).failure().message;
    EXPECT_EQ(elsewhere(far.g), "") << "seed " << seed;
    EXPECT_EQ(print(parsed(print(far.g))), print(far.g));
    const Arrays got = by_oracle(far), want = by_oracle(r);
    for (size_t k = 0; k < want.size(); ++k) EXPECT_EQ(got[k].i, want[k].i) << "seed " << seed;
    Result<Graph> joint = make_joint(far.g, core());
    if (!joint.ok() && joint.failure().message.ends_with("none is floating")) continue;
    ASSERT_TRUE(joint.ok()) << "seed " << seed << ": " << joint.failure().message;
    if (!joint->is_joint()) continue;  // nothing in it is trained
    const Result<Partition> cut = default_partition(*joint);
    ASSERT_TRUE(cut.ok()) << "seed " << seed << ": " << cut.failure().message;
    for (const PassStage stage : {PassStage::joint, PassStage::post_grad})
      value_or_throw(run_stage(stage, *joint, core(), {}));
    for (const Graph* g :
         std::initializer_list<const Graph*>{&*joint, &cut->forward, &cut->backward}) {
      ASSERT_TRUE(verify(*g).ok()) << "seed " << seed << ": " << verify(*g).failure().message;
      EXPECT_EQ(elsewhere(*g), "") << "seed " << seed;
    }
    ++joints;
  }
  EXPECT_GT(joints, 50);
}

TEST(DeviceGraphs, nothing_runs_them_on_the_cpu) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const RandomGraph r = value_or_throw(random_graph(core(), seed, {.max_nodes = 20}));
    const RandomGraph far = value_or_throw(with_devices(r));
    EXPECT_NE(refusal(compiled(far.g)).find("@cuda:0, and the program is compiled for cpu"),
              std::string::npos)
        << "seed " << seed << ": " << refusal(compiled(far.g)) << print(far.g);
    const auto kernels = program_traffic(far.g, core());
    ASSERT_FALSE(kernels.ok());
    EXPECT_EQ(kernels.failure().kind, ErrorKind::unsupported);
  }
  const Graph far =
      parsed("graph @main(%x: input f32[2]@cuda:0) {\n  %y = sin(%x)\n  return %y\n}\n");
  const Result<int64_t> timed = CallTimer(core()).measure(far, far.first_node());
  ASSERT_FALSE(timed.ok());
  EXPECT_EQ(timed.failure().kind, ErrorKind::unsupported);
}

// With a device that isn't there, all of them are compiled and run: with the CPU's bits but where a
// rule of passes or types looks at the device.
TEST(DeviceGraphs, a_backend_for_the_device_runs_them) {
  test::FakeDevice device(256 << 20, cuda, CompilerChoice::none);
  int ran = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const RandomGraph r = value_or_throw(random_graph(core(), seed, {.max_nodes = 20}));
    const RandomGraph far = value_or_throw(with_devices(r));
    const Result<Arrays> got = by_device(far, device);
    if (!got.ok() && got.failure().kind == ErrorKind::unsupported) continue;
    ASSERT_TRUE(got.ok()) << "seed " << seed << ": " << got.failure().message;
    const Result<Agreement> same =
        compare_with_oracle(far.g, far.inputs, *got, Narrowing::may_be_dropped);
    ASSERT_TRUE(same.ok()) << "seed " << seed << ": " << same.failure().message;
    EXPECT_EQ(same->difference, "") << "seed " << seed;
    ++ran;
  }
  EXPECT_GT(ran, 40);
  EXPECT_EQ(device.wrong(), "");
}

// Constructors that were left on the CPU are moved by a pass, so that these graphs run, too.
TEST(DeviceGraphs, constructors_of_the_cpu_move_there) {
  test::FakeDevice device(256 << 20, cuda, CompilerChoice::none);
  int moved = 0, ran = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const RandomGraph r = value_or_throw(random_graph(core(), seed, {.max_nodes = 20}));
    RandomGraph mixed = value_or_throw(with_mixed_devices(r, seed));
    ASSERT_TRUE(verify(mixed.g).ok()) << verify(mixed.g).failure().message;
    if (elsewhere(mixed.g).empty()) continue;
    const RandomGraph before = mixed;
    for (const CompilePass& pass :
         value_or_throw(run_stage(PassStage::pre_grad, mixed.g, core(), {})))
      if (pass.name == "move_constructors") moved += pass.matches > 0;
    EXPECT_EQ(elsewhere(mixed.g), "") << "seed " << seed << print(before.g);
    const Result<Arrays> got = by_device(mixed, device);
    if (!got.ok() && got.failure().kind == ErrorKind::unsupported) continue;
    ASSERT_TRUE(got.ok()) << "seed " << seed << ": " << got.failure().message;
    const Result<Agreement> same =
        compare_with_oracle(before.g, before.inputs, *got, Narrowing::may_be_dropped);
    ASSERT_TRUE(same.ok()) << "seed " << seed << ": " << same.failure().message;
    EXPECT_EQ(same->difference, "") << "seed " << seed;
    ++ran;
  }
  EXPECT_GT(moved, 30);
  EXPECT_GT(ran, 20);
  EXPECT_EQ(device.wrong(), "");
}

// ---- mixed devices in one call

// Which operand of the sample goes to the device; all of them where `which` is none.
Result<Types> inferred(const OpDef& op, const Sample& sample, std::optional<size_t> which) {
  Graph g("main");
  Arrays inputs;
  CLEAVE_TRY(const law::SampleCall call,
             law::add_sample(g, op, sample, 0, law::Floats::own, "s", inputs));
  Graph far("main");
  std::unordered_map<uint32_t, ValueId> map;
  for (const Placeholder& p : g.placeholders()) {
    Type t = g.type(p.value);
    const bool moves = which ? call.operands[*which] == p.value : p.role != Role::symint;
    if (moves) t.device = cuda;
    CLEAVE_TRY(map[p.value.v], far.add_placeholder(p.role, g.name(p.value), t, false, p.sym));
  }
  NodeSpec spec{.op = g.node(call.node).op,
                .inputs = {},
                .list_size = g.node(call.node).list_size,
                .attrs = g.node(call.node).attrs};
  for (const ValueId v : g.node(call.node).inputs)
    spec.inputs.push_back(v.valid() ? map.at(v.v) : v);
  CLEAVE_TRY(const NodeId n, far.add_node(std::move(spec)));
  return far.output_types(n);
}

// Whether all operands but one, which is on the device, may be on the CPU.
bool may_stay(const Graph& g, const law::SampleCall& call, size_t moved) {
  const OpView op = g.view(call.node);
  for (size_t k = 0; k < op.inputs().size(); ++k) {
    const ValueId v = op.inputs()[k];
    if (v.valid() && v != call.operands[moved] && g.type(v).rank() > 0 && !may_be_on_host(op, k))
      return false;
  }
  return true;
}

TEST(MixedDevices, are_refused_by_every_operator_and_results_lie_where_operands_do) {
  int refused = 0, moved = 0;
  for (const auto& op : core().all()) {
    const Samples samples = op->samples();
    if (samples.empty() || op->schema.operands.empty()) continue;
    const Sample& sample = samples[0];
    if (std::ranges::any_of(op->schema.args,
                            [](const ArgDef& a) { return a.kind == ArgKind::graph; }))
      continue;  // subgraphs say what they take
    const Result<Types> all = inferred(*op, sample, std::nullopt);
    ASSERT_TRUE(all.ok()) << op->name << ": " << all.failure().message;
    for (const Type& t : *all)
      EXPECT_TRUE(t.is_none || t.device == cuda) << op->name << " gives " << t.text();
    ++moved;
    Graph g("main");
    Arrays inputs;
    const law::SampleCall call =
        value_or_throw(law::add_sample(g, *op, sample, 0, law::Floats::own, "s", inputs));
    int tensors = 0;  // an operand of no dims may lie anywhere
    for (const ValueId v : call.operands) tensors += g.type(v).rank() > 0;
    for (size_t k = 0; k < call.operands.size() && tensors > 1; ++k) {
      if (g.type(call.operands[k]).rank() == 0) continue;
      const Result<Types> mixed = inferred(*op, sample, k);
      const bool is_refused = !mixed.ok() && mixed.failure().kind == ErrorKind::user;
      EXPECT_EQ(is_refused, !may_stay(g, call, k))
          << op->name << " with operand " << k << " on another device";
      if (is_refused) {
        EXPECT_NE(mixed.failure().message.find("@cuda:0"), std::string::npos);
        EXPECT_NE(mixed.failure().message.find("expected one device"), std::string::npos);
        EXPECT_EQ(mixed.failure().message.find("operands are on"), std::string::npos);
      }
      ++refused;
    }
  }
  EXPECT_GT(moved, 200);
  EXPECT_GT(refused, 150);
}

TEST(MixedDevices, a_number_of_the_cpu_may_meet_any) {
  const Graph g = parsed(
      "graph @main(%x: input f32[2]@cuda:0, %s: input f32[]) {\n  %y = mul(%s, %x)\n"
      "  return %y\n}\n");
  EXPECT_EQ(g.type(g.find("y")).text(), "f32[2]@cuda:0");
}

}  // namespace
}  // namespace cleave::random
