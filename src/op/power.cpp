// pow(self, exponent) -> y        y = self to the power exponent
//
//   self, exponent  tensors that broadcast (C1) on one device (C2), or a number for one (C3)
//                   (C4) not both bool
//                   (C5) if the result is an integer, an exponent given as a number is >= 0
//   y               the operands' promoted dtype
//
// In an integer tensor of exponents, a negative one gives 0 except for the bases 1 and -1, as in
// PyTorch. 0 to the power 0 is 1. A negative base with a fractional exponent gives NaN.
// Gradients (derivatives.yaml, pow_backward):
//   d self     = g * exponent * self^(exponent-1), 0 if the exponent is 0
//   d exponent = g * y * log(self), 0 if self is 0 and the exponent not negative
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

using loop::Expr;
using loop::Op;

DType meet_of(const OpView& op) { return promoted(op, {0, 1}); }

int64_t integer_power(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    return 0;
  }
  int64_t result = 1;
  for (int64_t rest = exponent, square = base; rest > 0; rest /= 2) {
    if (rest % 2 == 1) result = wrapping_mul(result, square);
    square = wrapping_mul(square, square);
  }
  return result;
}

Result<Types> infer_pow(const OpView& op) {
  const DType meet = meet_of(op);
  if (meet == DType::boolean)
    return op.broken("C4", "both operands are bool, expected a number dtype");
  if (is_integer(meet) && op.is_number(1) && op.number(1).as_double() < 0)
    return op.broken("C5", "exponent is {} and the result {}, expected a non-negative exponent",
                     op.number(1).text(), name_of(meet));
  return pointwise_type(op, meet, {0, 1});
}

// Small exponents as products, as PyTorch's pow_tensor_scalar_optimized_kernel does.
Expr floating_power(const Expr& x, double exponent) {
  const Expr one = loop::same(x, 1);
  if (exponent == 0) return one;
  if (exponent == 1) return x;
  if (exponent == 2) return x * x;
  if (exponent == 3) return x * x * x;
  if (exponent == 0.5) return loop::unary(Op::sqrt, x);
  if (exponent == -0.5) return loop::unary(Op::rsqrt, x);
  if (exponent == -1) return one / x;
  if (exponent == -2) return one / (x * x);
  return loop::binary(Op::pow, x, loop::same(x, exponent));
}

Expr lower_pow(const OpView& op, const loop::Exprs& x) {
  const DType meet = meet_of(op);
  const Expr base = loop::operand_as(op, x, 0, meet);
  if (op.is_number(1) && is_floating(meet)) return floating_power(base, op.number(1).as_double());
  return loop::binary(Op::pow, base, loop::operand_as(op, x, 1, meet));
}

// exponent - 1, as a number of the same kind.
CallOperand exponent_less_one(Builder& b, const OpView& op) {
  if (!op.is_number(1)) return CallOperand(b.sub(op.in(1), 1));
  const AttrValue& n = op.number(1);
  if (const Dim* d = n.get<Dim>()) return CallOperand(AttrValue(*d - Dim(1)));
  return CallOperand(AttrValue(n.as_double() - 1));
}

ValueId base_gradient(Builder& b, const GradView& op) {
  const ValueId g = op.dout(0);
  if (op.is_number(1) && op.number(1).as_double() == 0) return b.mul(g, 0);
  const ValueId slope = b.mul(b.pow(op.in(0), exponent_less_one(b, op)), operand_of(op, 1));
  const ValueId d = b.mul(g, slope);
  return op.is_number(1) ? d : b.where(b.eq(op.in(1), 0), 0, d);
}

ValueId exponent_gradient(Builder& b, const GradView& op) {
  const ValueId g = op.dout(0), y = op.out(0);
  if (op.is_number(0)) {
    const double base = op.number(0).as_double();
    if (base != 0) return b.mul(g, b.mul(y, std::log(base)));
    return b.where(b.ge(op.in(1), 0), 0, b.mul(g, b.mul(y, std::log(base))));
  }
  const ValueId flat = b.logical_and(b.eq(op.in(0), 0), b.ge(op.in(1), 0));
  return b.where(flat, 0, b.mul(g, b.mul(y, b.log(op.in(0)))));
}

std::vector<Sample> pow_samples() {
  const PairRange positive{0.3, 2, -2, 2};
  const PairRange base{0.3, 2, 0, 1};
  const std::vector<Sample> more = {
      {{f32({3}).range(-2, -0.3), 3}},
      {{f32({3}).range(-2, -0.3), 2.0}},
      {{f32({4}).range(-2, 2), 0}},
      {{f64({4}).range(-2, 2), 1}},
      {{2.5, f32({4})}},
      {{10, f32({4})}},
      {{2, bf16({4})}},
      {{2, i64({5}).with({0, 1, 5, 62, -1})}},
      {{1.5, i64({3})}},
      {{i64({5}), 3}},
      {{i64({5}), 0}},
      {{i32({3}), 1.5}},
      {{i64({6}).with({0, 1, -1, -1, 2, -2}), i64({6}).with({-1, -1, -1, -2, -3, -3})}},
      {{i64({3}).with({3, -3, 7}), 70}},
      {{boolean({3}), 2}},
      {{f32({3}).range(0.5, 2), i64({3}).range(-3, 4)}}};
  std::vector<Sample> integers = integer_pairs(0, 4);
  std::erase_if(integers,
                [](const Sample& s) { return is_floating(s.operands[0].tensors[0].type.dtype); });
  return joined({floating_pairs(positive),
                 right_numbers(base, {2, 3, 0.5, -0.5, -1, -2, 1.7, 2.0, 4}), integers, more});
}

std::vector<Reject> pow_rejects() {
  std::vector<Reject> r = pair_rejects("pow", "self", "exponent");
  r.push_back(no_tensor_reject("pow"));
  r.push_back({"C4",
               {{boolean({2}), boolean({2})}},
               "pow: C4: both operands are bool, expected a number dtype"});
  r.push_back({"C5",
               {{i64({2}), -1}},
               "pow: C5: exponent is -1 and the result i64, expected a non-negative exponent"});
  return r;
}

}  // namespace

CLEAVE_OPS(power) {
  return {OpDef{
      .name = "pow",
      .signature = "(Tensor|Scalar self, Tensor|Scalar exponent) -> Tensor",
      .summary = "self to the power exponent",
      .source = "aten::pow.Tensor_Tensor, aten::pow.Tensor_Scalar, aten::pow.Scalar, PyTorch 2.13",
      .traits = pointwise_traits,
      .infer = infer_pow,
      .reference =
          [](const OpView& op, std::span<const Array* const> in) {
            PointReference rule;
            rule.floating = [](std::span<const double> x) { return std::pow(x[0], x[1]); };
            rule.integer = [](std::span<const int64_t> x) { return integer_power(x[0], x[1]); };
            return reference_pointwise(op, in, meet_of(op), rule);
          },
      .decompose = Absent{"primitive"},
      .grad = wide_grad([](Builder& b, const GradView& op) -> Values {
        return {grad_to(b, op, 0, [&] { return base_gradient(b, op); }),
                grad_to(b, op, 1, [&] { return exponent_gradient(b, op); })};
      }),
      .lower = loop::pointwise(lower_pow),
      .cost = cost_per_result(20),
      .samples = pow_samples,
      .rejects = pow_rejects,
  }};
}

}  // namespace cleave
