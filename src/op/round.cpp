// round(self; decimals=0) -> y
//
//   self      (C1) floating or integer; integers are returned unchanged
//   decimals  int, (C2) 0 if self is an integer
//   y         dtype of self; halves round to even
//
//   decimals > 0:  round(self * p) / p,  p = 10^decimals
//   decimals < 0:  round(self / p) * p,  p = 10^-decimals
#include <cmath>

#include "op/cost.h"
#include "op/entry.h"
#include "op/pointwise.h"
#include "op/pointwise_lower.h"
#include "op/pointwise_reference.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

using loop::Expr;

bool is_number(DType t) { return t != DType::boolean; }

// 10^|decimals|
double power_of_ten(const OpView& op) {
  return std::pow(10.0, std::fabs(static_cast<double>(op.int_attr("decimals"))));
}

// Rounds halves to even: floor(x + 1/2), except for halves above an even floor.
double half_to_even(double x) {
  if (!std::isfinite(x)) return x;
  const double below = std::floor(x), rest = x - below;
  const bool up = rest > 0.5 || (rest == 0.5 && std::fmod(below, 2) != 0);
  return std::copysign(up ? below + 1 : below, x);
}

Result<Arrays> reference_round(const OpView& op, std::span<const Array* const> in) {
  const int64_t decimals = op.int_attr("decimals");
  const double p = power_of_ten(op);
  return reference_unary(
      op, in,
      [=](double x) {
        if (decimals == 0) return half_to_even(x);
        return decimals > 0 ? half_to_even(x * p) / p : half_to_even(x / p) * p;
      },
      [](int64_t x) { return x; });
}

Expr lower_round(const OpView& op, const loop::Exprs& in) {
  const Expr& x = in[0];
  if (!is_floating(x.type())) return x;
  const int64_t decimals = op.int_attr("decimals");
  const Expr p = loop::same(x, power_of_ten(op));
  if (decimals == 0) return loop::unary(loop::Op::round, x);
  return decimals > 0 ? loop::unary(loop::Op::round, x * p) / p
                      : loop::unary(loop::Op::round, x / p) * p;
}

std::vector<Sample> round_samples() {
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> x = {-2.25, -1.75, -0.625, 0.25, 1.375, 2.75};
  // Halves, where round has no slope, share a sample with NaN, so that finite differences skip it.
  const std::vector<double> halves = {-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 8388609, nan, inf, -inf};
  std::vector<Sample> s;
  for (DType t : floating_dtypes) {
    s.push_back({{sample(t, {2, 3}).with(x)}});
    s.push_back({{sample(t, {3}).with({-27.25, 14.75, 31.5})}, {{"decimals", -1}}});
  }
  const std::vector<Sample> more = {{{f32({}).range(0.1, 0.4)}},
                                    {{f32({0, 3})}},
                                    {{f32({10}).with(halves)}},
                                    {{f64({10}).with(halves)}},
                                    {{bf16({10}).with(halves)}},
                                    {{f32({3}).with({1.23, -0.58, 3.14})}, {{"decimals", 1}}},
                                    {{f64({3}).with({1.2341, -0.5678, 3.1419})}, {{"decimals", 3}}},
                                    {{i64({5})}},
                                    {{i32({2, 3})}},
                                    {{sample(DType::u8, {3}).with({0, 3, 255})}}};
  return joined({s, more});
}

}  // namespace

CLEAVE_OPS(round) {
  return {OpDef{
      .name = "round",
      .signature = "(Tensor self, *, int decimals=0) -> Tensor",
      .summary = "the nearest multiple of 10^-decimals, halves to even",
      .source = "aten::round, aten::round.decimals, PyTorch 2.13",
      .traits = pointwise_traits,
      .infer = [](const OpView& op) -> Result<Types> {
        CLEAVE_CHECK(expect_dtype(op, "C1", 0, is_number, "a floating or integer dtype"));
        const DType t = op.in_type(0).dtype;
        if (!is_floating(t) && op.int_attr("decimals") != 0)
          return op.broken("C2", "decimals is {} and self {}, expected 0 for integers",
                           op.int_attr("decimals"), op.in_type(0).text());
        return like_self(op, t);
      },
      .reference = reference_round,
      .decompose = Absent{"primitive"},
      .grad = zero_grad(),
      .lower = loop::pointwise(lower_round),
      .cost = cost_per_result(1),
      .samples = round_samples,
      .rejects = []() -> Rejects {
        return {{"C1",
                 {{boolean({2})}},
                 "round: C1: self is bool[2], expected a floating or integer dtype"},
                {"C2",
                 {{i64({2})}, {{"decimals", 1}}},
                 "round: C2: decimals is 1 and self i64[2], expected 0 for integers"}};
      },
  }};
}

}  // namespace cleave
