// softplus(self; beta=1, threshold=20)    beta * x > threshold: x
//                                         else log(1 + exp(beta * x)) / beta
//
//   self  (C1) floating, (C2) beta isn't 0
//   y     shape and dtype of self; NaN stays NaN. The slope is 1 above the threshold, as in ATen,
//         and sigmoid(beta * x) below.
// Source: aten/src/ATen/native/cpu/Activation.cpp, PyTorch 2.13.
#include <cmath>

#include "op/activation.h"
#include "op/cost.h"
#include "op/pointwise_lower.h"
#include "op/pointwise_reference.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

using loop::Expr;
using loop::Op;

struct Attrs {
  double beta, threshold;
};
Attrs attrs_of(const OpView& op) { return {op.float_attr("beta"), op.float_attr("threshold")}; }

Result<Types> infer(const OpView& op) {
  CLEAVE_CHECK(
      expect_dtype(op, "C1", 0, [](DType t) { return is_floating(t); }, "a floating dtype"));
  if (attrs_of(op).beta == 0) return op.broken("C2", "beta is 0, expected another number");
  return like_self(op, op.in_type(0).dtype);
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  const auto [beta, threshold] = attrs_of(op);
  return reference_unary(
      op, in,
      [=](double x) { return beta * x > threshold ? x : std::log1p(std::exp(beta * x)) / beta; },
      nullptr);
}

Values decompose(Builder& b, const OpView& op) {
  const auto [beta, threshold] = attrs_of(op);
  const DType t = op.in_type(0).dtype;
  const ValueId x = b.convert(op.in(0), wide(t)), scaled = b.mul(x, beta);
  // Clamped, so that exp stays finite on the side that isn't selected.
  const ValueId below = b.call1("clamp", {scaled, ValueId::none(), threshold});
  const ValueId smooth = b.div(b.call1("log1p", {b.exp(below)}), beta);
  return {b.convert(b.where(b.gt(scaled, threshold), x, smooth), t)};
}

ValueId grad(Builder& b, const GradView& op, ValueId g) {
  const auto [beta, threshold] = attrs_of(op);
  const ValueId scaled = b.mul(op.in(0), beta);
  return b.where(b.gt(scaled, threshold), g, b.mul(g, b.sigmoid(scaled)));
}

Expr lower(const OpView& op, const loop::Exprs& in) {
  const auto [beta, threshold] = attrs_of(op);
  const Expr& x = in[0];
  const Expr scaled = times(x, beta), top = loop::same(x, threshold);
  const Expr below = loop::binary(Op::min, scaled, top);
  const Expr smooth = loop::unary(Op::log1p, loop::unary(Op::exp, below)) / loop::same(x, beta);
  return loop::select(loop::binary(Op::gt, scaled, top), x, smooth);
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  for (const SampleAttrs& attrs : {SampleAttrs{}, SampleAttrs{{"beta", 2}, {"threshold", 3}},
                                   SampleAttrs{{"beta", -0.5}}, SampleAttrs{{"threshold", 40}}}) {
    for (DType t : floating_dtypes)
      out.push_back({{sample(t, {2, 3}).with({-3.5, -1.25, -0.375, 0.25, 0.75, 2.5})}, attrs});
    for (DType t : floating_dtypes)
      out.push_back(
          {{sample(t, {9}).with({NAN, INFINITY, -INFINITY, 0, -0.0, 19, 21, -90, 300})}, attrs});
    out.push_back({{f32({}).range(0.2, 0.8)}, attrs});
    out.push_back({{f32({0, 2})}, attrs});
    out.push_back({{f32({3, 19}).range(-4, 4)}, attrs});
  }
  return out;
}

Rejects rejects() {
  return {{"C1", {{i64({2})}}, "softplus: C1: self is i64[2], expected a floating dtype"},
          {"C2", {{f32({2})}, {{"beta", 0}}}, "softplus: C2: beta is 0, expected another number"}};
}

}  // namespace

CLEAVE_OPS(softplus) {
  return {OpDef{
      .name = "softplus",
      .signature = "(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor",
      .summary = "log(1 + exp(x)), smooth between 0 and x",
      .source = "aten::softplus, PyTorch 2.13",
      .traits = pointwise_traits,
      .infer = infer,
      .reference = reference,
      .decompose = decompose,
      .grad = wide_grad(unary_grad(grad)),
      .lower = loop::pointwise(lower),
      .cost = cost_per_result(30),
      .samples = samples,
      .rejects = rejects,
  }};
}

}  // namespace cleave
