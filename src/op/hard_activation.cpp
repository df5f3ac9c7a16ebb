// Piecewise linear approximations of sigmoid and silu.
//
//   hardsigmoid(self)   min(max(x + 3, 0), 6) / 6
//   hardswish(self)     x * (min(max(x + 3, 0), 6) / 6)
//
//   self  (C1) floating
//   y     shape and dtype of self; NaN stays NaN, and hardswish(-inf) is NaN: -inf * 0
#include "op/activation.h"
#include "op/cost.h"
#include "op/pointwise_lower.h"
#include "op/pointwise_reference.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

using loop::Expr;
using loop::Op;

struct HardRow {
  const char* name;
  const char* summary;
  bool is_swish;
};

// min(max(x + 3, 0), 6)
double gate_of(double x) {
  const double y = x + 3;
  return y > 6 ? 6 : y < 0 ? 0 : y;
}

Expr lower_gate(const Expr& x) {
  const Expr above = loop::binary(Op::max, plus(x, 3), loop::same(x, 0));
  return loop::binary(Op::min, above, loop::same(x, 6));
}

std::vector<Sample> hard_samples() {
  const std::vector<double> x = {-5, -2.5, -0.375, 0.25, 2.75, 4.5};
  const std::vector<double> edges = {NAN, INFINITY, -INFINITY, 0, -0.0, 3, -3, 20, -20};
  std::vector<Sample> s;
  for (DType t : floating_dtypes) s.push_back({{sample(t, {2, 3}).with(x)}});
  for (DType t : floating_dtypes) s.push_back({{sample(t, {9}).with(edges)}});
  const std::vector<Sample> more = {{{f32({}).range(0.2, 0.8)}},
                                    {{f32({0, 2})}},
                                    {{f32({3, 19}).range(-2.9, 2.9)}},
                                    {{bf16({})}},
                                    {{bf16({2, 3, 4}).range(-2.9, 2.9)}}};
  return joined({s, more});
}

OpDef hard_entry(const HardRow& row) {
  return OpDef{
      .name = row.name,
      .signature = "(Tensor self) -> Tensor",
      .summary = row.summary,
      .source = fmt::format("aten::{}, PyTorch 2.13", row.name),
      .traits = pointwise_traits,
      .infer = [](const OpView& op) -> Result<Types> {
        CLEAVE_CHECK(
            expect_dtype(op, "C1", 0, [](DType t) { return is_floating(t); }, "a floating dtype"));
        return like_self(op, op.in_type(0).dtype);
      },
      .reference =
          [swish = row.is_swish](const OpView& op, std::span<const Array* const> in) {
            return reference_unary(
                op, in, [=](double x) { return (swish ? x : 1) * gate_of(x) / 6; }, nullptr);
          },
      .decompose = [swish = row.is_swish](Builder& b, const OpView& op) -> Values {
        const DType t = op.in_type(0).dtype;
        const ValueId x = b.convert(op.in(0), wide(t));
        const ValueId gate = b.call1("clamp", {b.add(x, 3), 0, 6});
        const ValueId part = b.div(gate, 6);  // before the product, which may overflow
        return {b.convert(swish ? b.mul(x, part) : part, t)};
      },
      .grad = unary_grad([](Builder& b, const GradView& op, ValueId g) {
        return b.call1(op.name() + "_backward", {g, op.in(0)});
      }),
      .lower = loop::pointwise([swish = row.is_swish](const OpView&, const loop::Exprs& x) {
        const Expr part = lower_gate(x[0]) / loop::same(x[0], 6);
        return swish ? x[0] * part : part;
      }),
      .cost = cost_per_result(5),
      .samples = hard_samples,
      .rejects = [name = row.name]() -> Rejects {
        return {{"C1",
                 {{i64({2})}},
                 std::string(name) + ": C1: self is i64[2], expected a floating dtype"}};
      },
  };
}

}  // namespace

CLEAVE_OPS(hard_activation) {
  return {hard_entry({"hardsigmoid", "min(max(x + 3, 0), 6) / 6", false}),
          hard_entry({"hardswish", "x * hardsigmoid(x)", true})};
}

}  // namespace cleave
