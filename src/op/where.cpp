// where(condition, self, other) -> y        y = condition ? self : other
//
//   condition    bool (C4)
//   self, other  tensors or numbers; all three broadcast (C1) on one device (C2)
//   y            the promoted dtype of self and other; two numbers give bool, i64 or f32
#include "op/cost.h"
#include "op/entry.h"
#include "op/pointwise.h"
#include "op/pointwise_lower.h"
#include "op/pointwise_reference.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

DType meet_of(const OpView& op) { return promoted(op, {1, 2}); }
bool is_bool(DType t) { return t == DType::boolean; }

// Only the selected side affects the result, even if the other one is NaN.
Result<Arrays> reference_where(const OpView& op, std::span<const Array* const> in) {
  PointReference rule;
  rule.floating = [](std::span<const double> x) { return x[0] != 0 ? x[1] : x[2]; };
  rule.integer = [](std::span<const int64_t> x) { return x[0] != 0 ? x[1] : x[2]; };
  return reference_pointwise(op, in, meet_of(op), rule);
}

loop::Expr lower_where(const OpView& op, const loop::Exprs& x) {
  const DType meet = meet_of(op);
  return loop::select(x[0], loop::operand_as(op, x, 1, meet), loop::operand_as(op, x, 2, meet));
}

Values grad_where(Builder& b, const GradView& op) {
  const ValueId g = op.dout(0);
  return {ValueId::none(), grad_to(b, op, 1, [&] { return b.where(op.in(0), g, 0); }),
          grad_to(b, op, 2, [&] { return b.where(op.in(0), 0, g); })};
}

std::vector<Sample> where_samples() {
  constexpr double inf = std::numeric_limits<double>::infinity();
  std::vector<Sample> s;
  for (DType t : all_dtypes) s.push_back({{boolean({2, 3}), any_of(t, {2, 3}), any_of(t, {2, 3})}});
  const std::vector<Sample> more = {{{boolean({3}), f32({2, 1}), f32({})}},
                                    {{boolean({}), f32({3}), f32({3})}},
                                    {{boolean({2, 1}), f32({3}), bf16({3})}},
                                    {{boolean({0, 3}), f32({3}), f32({1, 3})}},
                                    {{boolean({4}), f32({4}), 2}},
                                    {{boolean({4}), 0.0, f32({4})}},
                                    {{boolean({4}), bf16({4}), -inf}},
                                    {{boolean({4}), i64({4}), 2.5}},
                                    {{boolean({4}), i64({4}), 7}},
                                    {{boolean({4}), 1, 2.5}},
                                    {{boolean({4}), 1, 2}},
                                    {{boolean({4}), true, false}},
                                    {{boolean({2}), f32({2}), f64({})}},
                                    {{boolean({2}), i32({2}), i64({2})}}};
  return joined({s, more});
}

}  // namespace

CLEAVE_OPS(where) {
  SampleTensor far = f32({3});
  far.type.device = {DeviceKind::cuda, 0};
  return {OpDef{
      .name = "where",
      .signature = "(Tensor condition, Tensor|Scalar self, Tensor|Scalar other) -> Tensor",
      .summary = "self where the condition holds, else other",
      .source = "aten::where.self, aten::where.Scalar, PyTorch 2.13",
      .traits = pointwise_traits,
      .infer = [](const OpView& op) -> Result<Types> {
        CLEAVE_CHECK(expect_dtype(op, "C4", 0, is_bool, "a bool dtype"));
        return pointwise_type(op, meet_of(op), {0, 1, 2});
      },
      .reference = reference_where,
      .decompose = Absent{"primitive"},
      .grad = grad_where,
      .lower = loop::pointwise(lower_where),
      .cost = cost_per_result(1),
      .samples = where_samples,
      .rejects = [far]() -> Rejects {
        return {{"C1",
                 {{boolean({2}), f32({3}), f32({})}},
                 "where: C1: shapes [2] and [3] don't broadcast: dim -1 is 2 and 3, expected "
                 "equal sizes or 1"},
                {"C2",
                 {{boolean({3}), f32({3}), far}},
                 "where: C2: condition is bool[3] and other is f32[3]@cuda:0, expected one device"},
                {"C4",
                 {{f32({2}), f32({2}), f32({2})}},
                 "where: C4: condition is f32[2], expected a bool dtype"}};
      },
  }};
}

}  // namespace cleave
