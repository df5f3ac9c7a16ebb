#include "cleave/check_operator.h"

#include <cmath>
#include <limits>
#include <map>

#include "cleave/generator.h"
#include "exec/executable.h"
#include "exec/finite_difference.h"
#include "interp/array_memory.h"
#include "interp/interpret.h"
#include "ir/text.h"
#include "runtime/thread_pool.h"
#include "trace/recording.h"

namespace cleave {
namespace {

// One call, its operands as placeholders.
struct Call {
  Graph g;
  Arrays inputs;                   // by placeholder
  std::vector<std::string> names;  // of the operands, by placeholder
  Values results;
};

struct Asked {
  const Operators& ops;
  const OpDef& def;
  const HostTensors& operands;
  const Attributes& attributes;
  Location at;

  const std::string& operand_name(size_t k) const {
    return def.schema.args[def.schema.operands[k]].name;
  }
};

// Throws what the operator refuses.
Call recorded(const Asked& asked) {
  const trace::RecordingPtr r = trace::Recording::program(
      asked.ops.registry(), trace::Mode::training, "check_operator", true);
  const trace::AbandonAtEnd over{*r};
  Call call;
  std::vector<Operand> operands;
  for (size_t k = 0; k < asked.operands.size(); ++k) {
    const HostTensor& t = asked.operands[k];
    const bool is_optional = k < asked.def.schema.operands.size() &&
                             asked.def.schema.args[asked.def.schema.operands[k]].optional;
    if (is_optional && t.dtype() == DType::f32 && t.shape() == Sizes{0}) {
      operands.emplace_back(Tensor(), asked.at);
      continue;
    }
    const std::string name =
        k < asked.def.schema.operands.size() ? asked.operand_name(k) : fmt::format("operand{}", k);
    const Type type(t.dtype(), Shape(t.shape().begin(), t.shape().end()));
    const ValueId v = r->add_input(name, type, Role::input, asked.at);
    operands.emplace_back(trace::Access::tensor(r, v), asked.at);
    call.inputs.push_back(from_memory(t.dtype(), t.shape(), t.contiguous().data()));
    call.names.push_back(name);
  }
  if (call.inputs.empty())
    trace::refuse(asked.at, "check_operator: {}: no operand is given", asked.def.name);
  for (const Tensor& t : cleave::call(asked.def.name, operands, asked.attributes, asked.at))
    call.results.push_back(r->value_of(t, asked.at));
  for (const ValueId v : call.results) r->graph().add_return({v, ReturnKind::result, {}});
  call.g = r->close();
  return call;
}

std::vector<const Array*> pointers(const Arrays& arrays) {
  std::vector<const Array*> out;
  for (const Array& a : arrays) out.push_back(&a);
  return out;
}

std::vector<int64_t> index_of(const std::vector<int64_t>& shape, int64_t k) {
  std::vector<int64_t> index(shape.size());
  for (size_t d = shape.size(); d-- > 0; k /= shape[d]) index[d] = k % shape[d];
  return index;
}

// Adds the element that differs most, if one differs by more than the tolerance.
void compare(const std::string& what, const Array& got, const Array& want, double tolerance,
             OperatorReport& report) {
  double scale = 1, most = 0;
  for (const double x : want.f)
    if (std::isfinite(x)) scale = std::max(scale, std::fabs(x));
  int64_t worst = -1;
  for (int64_t k = 0; k < want.numel(); ++k) {
    const double a = got.number(k), b = want.number(k);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    double by = std::fabs(a - b);
    if (!std::isfinite(by)) by = std::numeric_limits<double>::infinity();
    if ((want.floating() && by <= tolerance * scale) || by <= most) continue;
    most = by;
    worst = k;
  }
  if (worst < 0) return;
  report.differences.push_back(
      {what, index_of(want.shape, worst), got.number(worst), want.number(worst)});
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

Status check_kernel(const Asked& asked, const Call& call, double tolerance,
                    OperatorReport& report) {
  CLEAVE_TRY(Arrays want, interpret(call.g, pointers(call.inputs), Results::stored));
  StageOptions plain;
  plain.passes_off = {"all"};
  CLEAVE_TRY(plain.executor, runtime::start_threads(1));
  CLEAVE_TRY(const auto program, CompiledProgram::compile(call.g, asked.ops.registry(), plain));
  CLEAVE_TRY(const auto instance, Instance::make(program, plain.executor));
  std::vector<std::vector<std::byte>> memory;
  for (const Array& a : call.inputs) memory.push_back(to_memory(a));
  for (size_t k = 0; k < memory.size(); ++k)
    CLEAVE_CHECK(instance->bind(k, std::span<std::byte>(memory[k])));
  instance->fill_arena_pattern();  // so that an element that isn't written differs
  CLEAVE_CHECK(instance->run());
  for (size_t k = 0; k < want.size(); ++k) {
    Array& a = want[k];
    for (double& x : a.f) x = round_to(a.dtype, x);
    compare(fmt::format("kernel: result {}", k), from_memory(a.dtype, a.shape, instance->result(k)),
            a, tolerance > 0 ? tolerance : tolerance_of(a.dtype), report);
  }
  for (size_t k = 0; k < memory.size(); ++k) {
    const Array& before = call.inputs[k];
    compare("kernel: after the run, operand " + call.names[k],
            from_memory(before.dtype, before.shape, memory[k].data()), before, 0, report);
  }
  return {};
}

// The same call with floating operands in another dtype.
Result<Call> in_type(const Call& from, DType floats) {
  Call to;
  to.names = from.names;
  std::map<ValueId, ValueId> made;
  for (size_t k = 0; k < from.inputs.size(); ++k) {
    const ValueId v = from.g.placeholders()[k].value;
    Type type = from.g.type(v);
    to.inputs.push_back(from.inputs[k]);
    if (is_floating(type.dtype)) type.dtype = to.inputs.back().dtype = floats;
    CLEAVE_TRY(made[v], to.g.add_placeholder(Role::input, from.g.name(v), type));
  }
  const Node& node = from.g.node(from.g.first_node());
  NodeSpec spec;
  spec.op = node.op;
  for (const ValueId v : node.inputs) spec.inputs.push_back(v.valid() ? made.at(v) : v);
  spec.list_size = node.list_size;
  spec.attrs = node.attrs;
  CLEAVE_TRY(const NodeId n, to.g.add_node(std::move(spec)));
  for (uint32_t k = 0; k < node.output_count; ++k) to.results.push_back(to.g.node(n).out(k));
  return to;
}

Status check_gradient(const Asked& asked, const Call& own, double tolerance,
                      OperatorReport& report) {
  const auto skip = [&](const std::string& why) {
    report.not_checked.push_back("gradient: " + why);
    return Status();
  };
  if (!asked.def.grad.present()) return skip("the operator has none: " + asked.def.grad.reason());
  Result<Call> call = in_type(own, DType::f64);
  if (!call.ok()) call = in_type(own, DType::f32);
  if (!call.ok()) return skip("infer takes the operands neither in f64 nor in f32");
  WeightedGraph p;
  p.g = std::move(call->g);
  p.inputs = std::move(call->inputs);
  Generator rng(1);
  for (size_t k = 0; k < p.inputs.size(); ++k)
    if (p.inputs[k].floating()) p.varied.push_back(k);
  for (size_t k = 0; k < call->results.size(); ++k) {
    const Type& t = p.g.type(call->results[k]);
    if (t.is_none || !is_floating(t.dtype) || (k < 32 && asked.def.nondifferentiable >> k & 1))
      continue;
    p.results.push_back(call->results[k]);
    const HostTensor weights = rng.uniform(static_shape(t), 0.25, 1);
    p.weights.push_back(Array(t.dtype, weights.shape()));
    p.weights.back().f = weights.to_vector<double>();
  }
  if (p.varied.empty() || p.results.empty()) return skip("no operand or no result is floating");
  CLEAVE_TRY(const Arrays values, values_of(p));
  if (!all_moderate(values) || !all_moderate(p.inputs))
    return skip("an operand or a result is not finite, or beyond 1e4");
  CLEAVE_TRY(const Arrays want, differences(p, difference_step));
  CLEAVE_TRY(const Values grads, append_gradient(p, asked.ops.registry(), "weight"));
  CLEAVE_TRY(const Arrays got, gradients_at(p, grads));
  for (size_t k = 0; k < got.size(); ++k)
    compare("gradient: operand " + call->names[p.varied[k]], got[k], want[k], tolerance, report);
  return {};
}

}  // namespace

std::string OperatorDifference::text() const {
  return fmt::format("{} [{}]: got {}, expected {}", what, fmt::join(element, ","), got, expected);
}

std::string OperatorReport::text() const {
  std::string out;
  for (const OperatorDifference& d : differences) out += d.text() + "\n";
  for (const std::string& s : not_checked) out += s + " (not checked)\n";
  return out;
}

OperatorReport check_operator(const Operators& ops, const std::string& name,
                              const HostTensors& operands, const Attributes& attributes,
                              const OperatorTolerance& tolerance, Location at) {
  const OpDef* def = ops.registry().find(name);
  if (def == nullptr) {
    const std::string nearest = ops.registry().nearest(name);
    trace::refuse(at, "check_operator: there is no operator {}{}", name,
                  nearest.empty() ? "" : "; the nearest name is " + nearest);
  }
  const Asked asked{ops, *def, operands, attributes, at};
  OperatorReport report;
  const Call call = recorded(asked);
  trace::value_or_throw_at(at, check_kernel(asked, call, tolerance.kernel, report));
  trace::value_or_throw_at(at, check_gradient(asked, call, tolerance.gradient, report));
  return report;
}

}  // namespace cleave
