// clamp(self, min, max) -> y        y = min(max(self, min), max)
//
//   self      a tensor
//   min, max  a tensor that broadcasts (C1) on one device (C2), a number, or none; at least one is
//             given (C4)
//   y         the operands' promoted dtype, not bool (C5); NaN where self or a bound is NaN
//
// Where min > max the result is max. The gradient goes to self where it is between the bounds, both
// included, to min where self is below it, to max where self is above it (derivatives.yaml).
#include <cmath>

#include "op/cost.h"
#include "op/entry.h"
#include "op/pointwise.h"
#include "op/pointwise_lower.h"
#include "op/pointwise_reference.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

using loop::Op;

enum Operand { self, lower, upper };

DType meet_of(const OpView& op) { return promoted(op, {self, lower, upper}); }
bool bounded(const OpView& op, int k) { return op.has(k) || op.is_number(k); }

Result<Types> infer_clamp(const OpView& op) {
  if (!bounded(op, lower) && !bounded(op, upper))
    return op.broken("C4", "min and max are none, expected a bound");
  const DType meet = meet_of(op);
  if (meet == DType::boolean)
    return op.broken("C5", "the operands are bool, expected a number dtype");
  return pointwise_type(op, meet, {self, lower, upper});
}

double between(double x, const double* lo, const double* hi) {
  if (lo != nullptr) x = std::isnan(x) || std::isnan(*lo) ? NAN : x < *lo ? *lo : x;
  if (hi != nullptr) x = std::isnan(x) || std::isnan(*hi) ? NAN : x > *hi ? *hi : x;
  return x;
}

Result<Arrays> reference_clamp(const OpView& op, std::span<const Array* const> in) {
  const bool has_lo = bounded(op, lower), has_hi = bounded(op, upper);
  PointReference rule;
  rule.floating = [=](std::span<const double> x) {
    return between(x[self], has_lo ? &x[lower] : nullptr, has_hi ? &x[upper] : nullptr);
  };
  rule.integer = [=](std::span<const int64_t> x) {
    const int64_t y = has_lo && x[self] < x[lower] ? x[lower] : x[self];
    return has_hi && y > x[upper] ? x[upper] : y;
  };
  return reference_pointwise(op, in, meet_of(op), rule);
}

loop::Expr lower_clamp(const OpView& op, const loop::Exprs& x) {
  const DType meet = meet_of(op);
  loop::Expr y = loop::operand_as(op, x, self, meet);
  if (bounded(op, lower)) y = loop::binary(Op::max, y, loop::operand_as(op, x, lower, meet));
  if (bounded(op, upper)) y = loop::binary(Op::min, y, loop::operand_as(op, x, upper, meet));
  return y;
}

// A condition that may be undefined so far.
ValueId both(Builder& b, ValueId p, ValueId q) { return p.is_none() ? q : b.logical_and(p, q); }

Values grad_clamp(Builder& b, const GradView& op) {
  const ValueId g = op.dout(0), x = op.in(self);
  const auto masked = [&](ValueId keep) { return b.where(keep, g, 0); };
  const auto self_gradient = [&] {
    ValueId inside;
    if (bounded(op, lower)) inside = b.ge(x, operand_of(op, lower));
    if (bounded(op, upper)) inside = both(b, inside, b.le(x, operand_of(op, upper)));
    return masked(inside);
  };
  const auto lower_gradient = [&] {
    ValueId below = b.lt(x, operand_of(op, lower));
    if (bounded(op, upper)) below = b.logical_and(below, b.lt(op.in(lower), operand_of(op, upper)));
    return masked(below);
  };
  const auto upper_gradient = [&] {
    const ValueId above = b.gt(x, operand_of(op, upper));
    if (!bounded(op, lower)) return masked(above);
    return masked(b.call1("logical_or", {above, b.lt(op.in(upper), operand_of(op, lower))}));
  };
  return {grad_to(b, op, self, self_gradient), grad_to(b, op, lower, lower_gradient),
          grad_to(b, op, upper, upper_gradient)};
}

std::vector<Sample> clamp_samples() {
  const std::vector<double> x = {-2, -0.75, -0.25, 0.25, 0.625, 1.75};
  const auto none = std::nullopt;
  std::vector<Sample> s;
  for (DType t : floating_dtypes) {
    const SampleTensor self = sample(t, {2, 3}).with(x);
    s.push_back({{self, -0.5, 0.5}});
    s.push_back({{self, none, 0.5}});
    s.push_back({{self, -1}});
    s.push_back({{self, 2, 1}});
    s.push_back({{self, sample(t, {3}).with({-0.5, 0, 0.5}), sample(t, {2, 1}).with({1, 1.5})}});
  }
  const std::vector<Sample> more = {
      {{f32({6}).with(x), f32({6, 1}).with({-1, 1, 2, 0.5, -0.5, 0})}},
      {{f32({6}).with(x), none, f64({}).with({0.5})}},
      {{f32({6}).with(x), f32({2, 1}).with({1, -1}), 0.125}},
      {{bf16({6}).with(x), f32({6}).with({0, 0, 0, 0, 0, 0})}},
      {{f32({0}), 0.0}},
      {{f32({}), -3.0, 3.0}},
      {{i64({5}), -3, 3}},
      {{i64({5}), 0.5}},
      {{i64({4}), none, 2.5}},
      {{i64({4}), i64({4}), i32({4})}},
      {{i32({5}), 0}},
      {{boolean({3}), 0, 1}},
      {{sample(DType::u8, {4}).with({0, 3, 200, 255}), 2, 201}}};
  return joined({s, more});
}

}  // namespace

CLEAVE_OPS(clamp) {
  SampleTensor far = f32({3});
  far.type.device = {DeviceKind::cuda, 0};
  return {OpDef{
      .name = "clamp",
      .signature = "(Tensor self, Tensor|Scalar? min=None, Tensor|Scalar? max=None) -> Tensor",
      .summary = "self cut to [min, max]",
      .source = "aten::clamp, aten::clamp.Tensor, PyTorch 2.13",
      .traits = pointwise_traits,
      .infer = infer_clamp,
      .reference = reference_clamp,
      .decompose = Absent{"primitive"},
      .grad = grad_clamp,
      .lower = loop::pointwise(lower_clamp),
      .cost = cost_per_result(2),
      .samples = clamp_samples,
      .rejects = [far]() -> Rejects {
        return {{"C1",
                 {{f32({2, 3}), f32({4})}},
                 "clamp: C1: shapes [2,3] and [4] don't broadcast: dim -1 is 3 and 4, expected "
                 "equal sizes or 1"},
                {"C2",
                 {{f32({3}), far}},
                 "clamp: C2: self is f32[3] and min is f32[3]@cuda:0, expected one device"},
                {"C4", {{f32({2})}}, "clamp: C4: min and max are none, expected a bound"},
                {"C5",
                 {{boolean({2}), false}},
                 "clamp: C5: the operands are bool, expected a number dtype"}};
      },
  }};
}

}  // namespace cleave
