// Gradients against central differences (exec/finite_difference.h), under random weights. The
// second order is compared where differences with h and h/2 agree, that is, where the gradient is
// smooth (not at a tie).
//
// Also checked for every rule: an operand's gradient is the same when it is the only one asked for;
// the gradient of each result alone is right, not only that of the sum of all; results that the
// entry marks as not differentiable give no gradient; and in bf16 and f16 the rule gives about what
// it gives in f64 for the same contents, so that no intermediate rounding is amplified by
// cancellation. Where one triangle of a symmetric matrix is read (Trait::symmetric), both vary
// together, as the gradient has it.
#include <cmath>

#include "exec/finite_difference.h"
#include "ir/builder.h"
#include "test/law/laws.h"
#include "test/sample/sample_call.h"

namespace cleave::law {
namespace {

constexpr double tolerance = 1e-6;
constexpr int64_t second_order_elements = 16;  // larger samples are checked at the first order only

Status compare(const WeightedGraph& p, const Arrays& got, const Arrays& want, double within,
               const char* which) {
  for (size_t k = 0; k < got.size(); ++k)
    if (std::string why = difference(got[k], want[k], within); !why.empty())
      return user_error("the {} gradient of %{}: {}", which,
                        p.g.name(p.g.placeholders()[p.varied[k]].value), why);
  return {};
}

// Operand 0 of the node becomes (x + x^T) / 2, so that both of its triangles vary.
void make_symmetric(Graph& g, const OpRegistry& ops, NodeId n) {
  Builder b(g, ops);
  b.insert_before(n);
  const ValueId x = g.node(n).inputs[0];
  const ValueId turned = b.call1("transpose", {x}, {{"dim0", -2}, {"dim1", -1}});
  g.set_input(n, 0, b.mul(b.add(x, turned), 0.5));
}

// The call with floating operands in f64, or as they are; nullopt where it can't be differentiated:
// no floating operand or result, values that are not finite, a constraint that ties dtypes.
std::optional<WeightedGraph> problem_of(const OpRegistry& ops, const OpDef& op, const Sample& s,
                                        size_t index, Floats floats) {
  WeightedGraph p;
  auto call = add_sample(p.g, op, s, index, floats, "s", p.inputs);
  if (!call.ok() || !all_moderate(p.inputs)) return std::nullopt;
  if (has(op.traits, Trait::symmetric)) make_symmetric(p.g, ops, call->node);
  const auto& placeholders = p.g.placeholders();
  for (size_t i = 0; i < placeholders.size(); ++i)
    if (p.inputs[i].floating()) p.varied.push_back(i);
  const Node& node = p.g.node(call->node);
  for (uint32_t r = 0; r < node.output_count; ++r) {
    const Type& t = p.g.type(node.out(r));
    if (t.is_none || !is_floating(t.dtype) || (op.nondifferentiable >> r & 1) || !t.is_static())
      continue;
    if (floats == Floats::f64 && t.dtype != DType::f64) continue;
    p.results.push_back(node.out(r));
    p.weights.push_back(random_weights(t, seed_of(op.name) + 31 * index + r));
  }
  if (p.varied.empty() || p.results.empty()) return std::nullopt;
  return p;
}

Status second_order(WeightedGraph p, const Values& grads, const OpRegistry& ops) {
  std::vector<size_t> varied = p.varied;
  p.results.clear();
  p.weights.clear();
  for (size_t k = 0; k < grads.size(); ++k) {
    if (!grads[k].valid()) continue;
    p.results.push_back(grads[k]);
    p.weights.push_back(random_weights(p.g.type(grads[k]), 17 + k));
  }
  for (size_t i = 0; i < p.g.placeholders().size(); ++i)
    if (p.g.placeholders()[i].role == Role::tangent) varied.push_back(i);
  p.varied = varied;
  int64_t elements = 0;
  for (size_t i : varied) elements += p.inputs[i].numel();
  if (elements > second_order_elements || p.results.empty()) return {};
  CLEAVE_TRY(Arrays want, differences(p, difference_step));
  CLEAVE_TRY(Arrays closer, differences(p, difference_step / 2));
  if (!all_moderate(want)) return {};
  for (size_t k = 0; k < want.size(); ++k)
    if (!difference(closer[k], want[k], tolerance).empty()) return {};
  auto second = append_gradient(p, ops, "w2");
  if (!second.ok()) {
    if (second.failure().kind == ErrorKind::unsupported) return {};
    return std::move(second).failure();
  }
  CLEAVE_TRY(const Arrays got, gradients_at(p, *second));
  return compare(p, got, want, tolerance, "second");
}

// Each operand's gradient where it alone is asked for.
Status each_alone(const WeightedGraph& all, const Arrays& want, const OpRegistry& ops) {
  for (size_t k = 0; k < all.varied.size() && all.varied.size() > 1; ++k) {
    WeightedGraph p = all;
    p.varied = {all.varied[k]};
    CLEAVE_TRY(const Values grads, append_gradient(p, ops, "w"));
    CLEAVE_TRY(const Arrays got, gradients_at(p, grads));
    CLEAVE_CHECK(compare(p, got, {want[k]}, tolerance, "only"));
  }
  return {};
}

// The gradient of each result where nothing else has a cotangent.
Status each_result_alone(const WeightedGraph& all, const OpRegistry& ops) {
  for (size_t r = 0; r < all.results.size() && all.results.size() > 1; ++r) {
    WeightedGraph p = all;
    p.results = {all.results[r]};
    p.weights = {all.weights[r]};
    CLEAVE_TRY(const Arrays want, differences(p, difference_step));
    CLEAVE_TRY(const Values grads, append_gradient(p, ops, "w"));
    CLEAVE_TRY(const Arrays got, gradients_at(p, grads));
    const std::string which = fmt::format("result {}'s own", all.g.value(all.results[r]).index);
    CLEAVE_CHECK(compare(p, got, want, tolerance, which.c_str()));
  }
  return {};
}

// Results that are marked as not differentiable give no gradient.
Status marked_give_nothing(const WeightedGraph& all, const OpRegistry& ops, const OpDef& op) {
  WeightedGraph p = all;
  p.results.clear();
  p.weights.clear();
  const Node& node = p.g.node(p.g.value(all.results[0]).def);
  for (uint32_t r = 0; r < node.output_count; ++r) {
    const Type& t = p.g.type(node.out(r));
    if (t.is_none || !is_floating(t.dtype) || !(op.nondifferentiable >> r & 1)) continue;
    p.results.push_back(node.out(r));
    p.weights.push_back(random_weights(t, r));
  }
  CLEAVE_TRY(const Values grads, append_gradient(p, ops, "w"));
  for (const ValueId v : grads)
    if (v.valid())
      return user_error("a result that is marked as not differentiable has a gradient");
  return {};
}

// A few roundings of the widest unit among the dtypes.
double narrow_tolerance(const Arrays& inputs) {
  const auto bf16 = [](const Array& a) { return a.dtype == DType::bf16; };
  return std::any_of(inputs.begin(), inputs.end(), bf16) ? 0x1p-7 : 0x1p-9;
}

// bf16 and f16 beside f64, of the same contents and cotangents.
Status in_own_dtypes(WeightedGraph wide, const OpRegistry& ops, const OpDef& op, const Sample& s,
                     size_t index) {
  auto own = problem_of(ops, op, s, index, Floats::own);
  const auto narrow = [](const Array& a) {
    return a.dtype == DType::bf16 || a.dtype == DType::f16;
  };
  if (!own || std::none_of(own->inputs.begin(), own->inputs.end(), narrow)) return {};
  if (own->results.size() != wide.results.size())
    return user_error("{} results have a gradient, in f64 {}", own->results.size(),
                      wide.results.size());
  for (Array& w : own->weights)
    for (double& x : w.f) x = round_to(w.dtype, x);
  for (size_t i = 0; i < wide.inputs.size(); ++i) wide.inputs[i].f = own->inputs[i].f;
  for (size_t r = 0; r < wide.weights.size(); ++r) wide.weights[r].f = own->weights[r].f;
  CLEAVE_TRY(const Values narrow_grads, append_gradient(*own, ops, "w"));
  CLEAVE_TRY(const Values wide_grads, append_gradient(wide, ops, "w"));
  CLEAVE_TRY(const Arrays got, gradients_at(*own, narrow_grads));
  CLEAVE_TRY(const Arrays want, gradients_at(wide, wide_grads));
  return compare(*own, got, want, narrow_tolerance(own->inputs), "narrow");
}

Result<bool> check_grad(const OpRegistry& ops, const OpDef& op, const Sample& s, size_t index) {
  auto p = problem_of(ops, op, s, index, Floats::f64);
  if (!p) return false;
  CLEAVE_TRY(Arrays values, values_of(*p));
  if (!all_moderate(values)) return false;
  CLEAVE_TRY(Arrays want, differences(*p, difference_step));
  CLEAVE_CHECK(each_alone(*p, want, ops));
  CLEAVE_CHECK(each_result_alone(*p, ops));
  CLEAVE_CHECK(marked_give_nothing(*p, ops, op));
  CLEAVE_CHECK(in_own_dtypes(*p, ops, op, s, index));
  CLEAVE_TRY(Values grads, append_gradient(*p, ops, "w"));
  CLEAVE_TRY(const Arrays got, gradients_at(*p, grads));
  CLEAVE_CHECK(compare(*p, got, want, tolerance, "first"));
  CLEAVE_CHECK(second_order(std::move(*p), grads, ops));
  return true;
}

}  // namespace

Status grad_law(const OpRegistry& ops, const OpDef& op) {
  if (!op.grad.present() || !op.reference.present()) return {};
  const Samples samples = op.samples();
  for (size_t k = 0; k < samples.size(); ++k)
    if (auto checked = check_grad(ops, op, samples[k], k); !checked.ok())
      return std::move(checked).failure().within(fmt::format("{}, sample {}", op.name, k));
  return {};
}

int64_t grad_samples(const OpRegistry& ops, const OpDef& op) {
  int64_t count = 0;
  const Samples samples = op.samples();
  for (size_t k = 0; k < samples.size(); ++k)
    if (auto checked = check_grad(ops, op, samples[k], k); checked.ok() && *checked) ++count;
  return count;
}

}  // namespace cleave::law
