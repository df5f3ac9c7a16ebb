// Compiled samples against the reference. All samples of an entry are calls of one graph, so that
// they are compiled as one unit.
#include <cmath>

#include "interp/array_memory.h"
#include "interp/interpret.h"
#include "test/law/laws.h"
#include "test/sample/kept_program.h"
#include "test/sample/run_program.h"
#include "test/sample/sample_call.h"

namespace cleave::law {
namespace {

struct Batch {
  Graph g{"samples"};
  Arrays inputs;
  std::vector<size_t> sample_of;  // by return
};

// Every static sample as a call of one graph.
Result<Batch> batch_of(const OpDef& op) {
  Batch batch;
  const Samples samples = op.samples();
  for (size_t k = 0; k < samples.size(); ++k) {
    if (!is_static(samples[k])) continue;
    CLEAVE_TRY(SampleCall call, add_sample(batch.g, op, samples[k], k, Floats::own,
                                           fmt::format("s{}", k), batch.inputs));
    const Node& node = batch.g.node(call.node);
    for (uint32_t r = 0; r < node.output_count; ++r) {
      if (batch.g.type(node.out(r)).is_none) continue;
      batch.g.add_return({node.out(r), ReturnKind::result, {}});
      batch.sample_of.push_back(k);
    }
  }
  return batch;
}

double tolerance_of(DType t) {
  switch (t) {
    case DType::f64: return 1e-11;
    case DType::f32: return 3e-5;
    case DType::bf16: return 0x1p-7;
    case DType::f16: return 0x1p-10;
    default: return 0;
  }
}

// The narrowest floating type that a sample's call touches decides how exact it can be.
double tolerance_of(const Graph& g, const Return& r) {
  const DType t = g.type(r.value).dtype;
  return is_floating(t) ? tolerance_of(t) : 0;
}

// What a value beyond the type's range is stored as.
Array as_stored(Array a) {
  for (double& x : a.f) x = round_to(a.dtype, x);
  return a;
}

// Rejects that only the values of operands show: the loops say the same as the reference.
Status rejects_when_run(const OpRegistry& ops, const OpDef& op) {
  const Rejects rejects = op.rejects();
  for (size_t k = 0; k < rejects.size(); ++k) {
    Batch batch;
    auto call = add_sample(batch.g, op, rejects[k].call, k, Floats::own, "s", batch.inputs);
    if (!call.ok()) continue;
    const Node& node = batch.g.node(call->node);
    for (uint32_t r = 0; r < node.output_count; ++r)
      if (!batch.g.type(node.out(r)).is_none)
        batch.g.add_return({node.out(r), ReturnKind::result, {}});
    auto results = run_graph(batch.g, ops, batch.inputs, CompilerChoice::none);
    const std::string& want = rejects[k].message;
    const std::string got = results.ok() ? "it is accepted" : results.failure().message;
    if (!got.starts_with(want))
      return user_error("{}, reject {}: compiled,\n  {}\nexpected\n  {}", op.name, k, got, want);
  }
  return {};
}

}  // namespace

Status lowered_law(const OpRegistry& ops, const OpDef& op, const Target& target) {
  if (!op.lower.present() || !op.reference.present()) return {};
  CLEAVE_CHECK(rejects_when_run(ops, op));
  CLEAVE_TRY(Batch batch, batch_of(op));
  std::vector<const Array*> in;
  for (const Array& a : batch.inputs) in.push_back(&a);
  CLEAVE_TRY(Arrays want, interpret(batch.g, in));
  StageOptions as_it_is;
  as_it_is.target = target;
  as_it_is.passes_off = {"all"};  // the samples' calls and no others
  CLEAVE_TRY(const KeptProgram program, build_and_find(batch.g, ops, as_it_is));
  CLEAVE_TRY(const Memory one, run_program(program.built, batch.inputs, 1));
  CLEAVE_TRY(const Memory two, run_program(program.found, batch.inputs, 2));
  StageOptions bytecode = as_it_is;
  bytecode.compiler = CompilerChoice::none;
  CLEAVE_TRY(const KeptProgram interpreted, build_and_find(batch.g, ops, bytecode));
  CLEAVE_TRY(const Memory again, run_program(interpreted.found, batch.inputs, 2));
  for (size_t k = 0; k < want.size(); ++k) {
    const auto where = [&] { return fmt::format("{}, sample {}", op.name, batch.sample_of[k]); };
    const Array got = from_memory(want[k].dtype, want[k].shape, one[k].data());
    const double tolerance = tolerance_of(batch.g, batch.g.returns()[k]);
    if (std::string why = difference(got, as_stored(want[k]), tolerance); !why.empty())
      return user_error("{}: compiled, it {}", where(), why);
    if (one[k] != two[k])
      return user_error("{}: other bits on 2 threads, and from the cache, than on 1", where());
    // All but the sign of a NaN, which compilers choose.
    const Array b = from_memory(want[k].dtype, want[k].shape, again[k].data());
    if (std::string why = difference(b, got, 0); !why.empty())
      return user_error("{}: as bytecode, other than compiled, it {}", where(), why);
  }
  return {};
}

}  // namespace cleave::law
