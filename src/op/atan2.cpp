// atan2(self, other) -> y        the angle of the point (other, self), in [-pi, pi]
//
//   self, other  tensors that broadcast (C1) on one device (C2)
//   y            the operands' promoted dtype; f32 for integers
//
//   d self  =  g * other / (self^2 + other^2)
//   d other = -g * self  / (self^2 + other^2)
#include <cmath>

#include "op/cost.h"
#include "op/entry.h"
#include "op/pair_samples.h"
#include "op/pointwise.h"
#include "op/pointwise_lower.h"
#include "op/pointwise_reference.h"
#include "op/wide_grad.h"

namespace cleave {
namespace {

DType meet_of(const OpView& op) { return to_floating(promoted(op, {0, 1})); }

ValueId over_square(Builder& b, ValueId g, const OpView& op) {
  const ValueId y = op.in(0), x = op.in(1);
  return b.div(g, b.add(b.mul(y, y), b.mul(x, x)));
}

Samples samples() {
  const std::vector<Sample> more = {{{f32({4, 1}).with({0.5, 1, -1, 2}), f32({2}).with({1, -1})}},
                                    {{i64({2, 3}), i32({3}).range(1, 4)}},
                                    {{f32({2}).range(0.5, 2), boolean({2})}}};
  return joined({floating_pairs({-2, 2, 0.3, 2}), more});
}

}  // namespace

CLEAVE_OPS(atan2) {
  return {OpDef{
      .name = "atan2",
      .signature = "(Tensor self, Tensor other) -> Tensor",
      .summary = "the angle of the point (other, self), in [-pi, pi]",
      .source = "aten::atan2, PyTorch 2.13",
      .traits = pointwise_traits,
      .infer = [](const OpView& op) { return pointwise_type(op, meet_of(op), {0, 1}); },
      .reference =
          [](const OpView& op, std::span<const Array* const> in) {
            PointReference rule;
            rule.floating = [](std::span<const double> x) { return std::atan2(x[0], x[1]); };
            return reference_pointwise(op, in, meet_of(op), rule);
          },
      .decompose = Absent{"primitive"},
      .grad = wide_grad([](Builder& b, const GradView& op) -> Values {
        const ValueId g = op.dout(0);
        return {grad_to(b, op, 0, [&] { return b.mul(over_square(b, g, op), op.in(1)); }),
                grad_to(b, op, 1, [&] { return b.mul(over_square(b, b.neg(g), op), op.in(0)); })};
      }),
      .lower = loop::pointwise([](const OpView& op, const loop::Exprs& x) {
        const DType meet = meet_of(op);
        return loop::binary(loop::Op::atan2, loop::operand_as(op, x, 0, meet),
                            loop::operand_as(op, x, 1, meet));
      }),
      .cost = cost_per_result(15),
      .samples = samples,
      .rejects = [] { return pair_rejects("atan2"); },
  }};
}

}  // namespace cleave
