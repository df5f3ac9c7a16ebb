// The larger and the smaller of two operands.
//
//   maximum(self, other) -> y      minimum(self, other) -> y
//   self, other  tensors that broadcast (C1) on one device (C2)
//   y            the operands' promoted dtype; NaN where either is NaN
//
// Where both are equal, each gets half of the gradient.
#include <cmath>

#include "op/cost.h"
#include "op/entry.h"
#include "op/pair_samples.h"
#include "op/pointwise.h"
#include "op/pointwise_lower.h"
#include "op/pointwise_reference.h"

namespace cleave {
namespace {

DType meet_of(const OpView& op) { return promoted(op, {0, 1}); }

double larger(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : a > b ? a : b; }
double smaller(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : a < b ? a : b; }

struct ExtremumRow {
  const char* name;
  const char* summary;
  double (*floating)(double, double);
  bool larger;
};

// g where `mine` is the result, g/2 where both are equal.
ValueId share(Builder& b, ValueId g, ValueId mine, ValueId theirs, bool larger) {
  const ValueId lost = larger ? b.lt(mine, theirs) : b.gt(mine, theirs);
  const ValueId shared = b.where(b.eq(mine, theirs), b.div(g, 2), g);
  return b.where(lost, 0, shared);
}

std::vector<Sample> extremum_samples() {
  const std::vector<Sample> more = {
      {{f32({6}).with({1, 2, -3, 0.5, 0, 4}), f32({6}).with({1, -2, -3, 0.75, 1, 4})}},
      {{f64({3}).with({0.5, 1.25, 2}), f64({2, 1}).with({1, 1.75})}},
      {{i64({3}), i64({2, 1})}},
      {{boolean({4}), boolean({4})}},
      {{boolean({3}), f32({3})}}};
  return joined({floating_pairs({}), integer_pairs(-9, 10), more});
}

OpDef extremum_entry(const ExtremumRow& row) {
  return OpDef{
      .name = row.name,
      .signature = "(Tensor self, Tensor other) -> Tensor",
      .summary = row.summary,
      .source = fmt::format("aten::{}, PyTorch 2.13", row.name),
      .traits = pointwise_traits,
      .infer = [](const OpView& op) { return pointwise_type(op, meet_of(op), {0, 1}); },
      .reference =
          [f = row.floating, l = row.larger](const OpView& op, std::span<const Array* const> in) {
            PointReference rule;
            rule.floating = [f](std::span<const double> x) { return f(x[0], x[1]); };
            rule.integer = [l](std::span<const int64_t> x) {
              return (x[0] > x[1]) == l ? x[0] : x[1];
            };
            return reference_pointwise(op, in, meet_of(op), rule);
          },
      .decompose = Absent{"primitive"},
      .grad = [l = row.larger](Builder& b, const GradView& op) -> Values {
        const ValueId g = op.dout(0), x = op.in(0), y = op.in(1);
        return {grad_to(b, op, 0, [&] { return share(b, g, x, y, l); }),
                grad_to(b, op, 1, [&] { return share(b, g, y, x, l); })};
      },
      .lower = loop::pointwise([l = row.larger](const OpView& op, const loop::Exprs& x) {
        const DType meet = meet_of(op);
        return loop::binary(l ? loop::Op::max : loop::Op::min, loop::operand_as(op, x, 0, meet),
                            loop::operand_as(op, x, 1, meet));
      }),
      .cost = cost_per_result(1),
      .samples = extremum_samples,
      .rejects = [name = row.name] { return pair_rejects(name); },
  };
}

}  // namespace

CLEAVE_OPS(extremum) {
  return {extremum_entry({"maximum", "the larger of both", larger, true}),
          extremum_entry({"minimum", "the smaller of both", smaller, false})};
}

}  // namespace cleave
