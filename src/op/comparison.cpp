// Comparisons of two operands, with a bool result.
//
//   eq ne lt le gt ge (self, other) -> y
//   self, other  a tensor, and a tensor or number: they broadcast (C1) on one device (C2)
//   y            bool; the operands, numbers too, are converted to their promoted dtype and then
//                compared: in bf16, 0.1 counts as 0.10009765625. Comparisons with NaN are false,
//                except for ne.
#include "op/cost.h"
#include "op/entry.h"
#include "op/pair_samples.h"
#include "op/pointwise.h"
#include "op/pointwise_lower.h"
#include "op/pointwise_reference.h"

namespace cleave {
namespace {

struct ComparisonRow {
  const char* name;
  const char* summary;
  bool (*floating)(double, double);
  bool (*integer)(int64_t, int64_t);
  loop::Op op;
};

DType meet_of(const OpView& op) { return promoted(op, {0, 1}); }

loop::Expr side(const OpView& op, const loop::Exprs& x, int operand, DType meet) {
  const loop::Expr e = op.is_number(operand) ? loop::rounded_constant(op.number(operand), meet)
                                             : loop::operand_as(op, x, operand, meet);
  return meet == DType::boolean ? loop::cast(e, DType::i32) : e;
}

std::vector<Sample> comparison_samples() {
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> special = {nan, inf, -inf, 0, -0.0, 1.5};
  const std::vector<Sample> more = {
      {{f32({2, 3}).ties(2), f32({2, 3}).ties(2)}},
      {{f32({6, 1}).with(special), f32({6}).with(special)}},
      {{f32({6}).with(special), 0}},
      {{f32({2, 3}), 0.5}},
      {{bf16({3}).with({0.1, 0.2, 0.05}), 0.1}},
      {{f32({3}).with({0.1, 0.2, 0.05}), 0.1}},
      {{f32({3}).with({0.1, 0.2, 0.05}), f64({}).with({0.1})}},
      {{f64({}).with({0.1}), f32({3}).with({0.1, 0.2, 0.05})}},
      {{f16({2, 3}), f16({3}).ties(3)}},
      {{i64({5}), 0}},
      {{i64({3}), 1.5}},
      {{i32({5}).range(0, 3), i32({5}).range(0, 3)}},
      {{sample(DType::u8, {3}).with({3, 44, 255}), 300}},
      {{sample(DType::u8, {3}).with({3, 44, 255}), -1}},
      {{sample(DType::u8, {3}).with({3, 44, 255}), i64({}).with({300})}},
      {{sample(DType::i8, {3}).with({3, 44, -56}), i64({}).with({200})}},
      {{boolean({4}), boolean({4})}},
      {{boolean({4}), true}},
      {{boolean({4}), 2}},
      {{i64({2}).with({4503599627370497.0, -3}), i64({2}).with({4503599627370496.0, -3})}}};
  return joined({floating_pairs({}), integer_pairs(-9, 10), more});
}

OpDef comparison_entry(const ComparisonRow& row) {
  return OpDef{
      .name = row.name,
      .signature = "(Tensor self, Tensor|Scalar other) -> Tensor",
      .summary = row.summary,
      .source = fmt::format("aten::{0}.Tensor, aten::{0}.Scalar, PyTorch 2.13", row.name),
      .traits = pointwise_traits,
      .infer = [](const OpView& op) { return pointwise_type(op, DType::boolean, {0, 1}); },
      .reference =
          [f = row.floating, i = row.integer](const OpView& op, std::span<const Array* const> in) {
            PointReference rule;
            rule.floating = [f](std::span<const double> x) { return f(x[0], x[1]) ? 1.0 : 0.0; };
            rule.integer = [i](std::span<const int64_t> x) { return int64_t{i(x[0], x[1])}; };
            rule.numbers = NumberRounding::to_meet;
            return reference_pointwise(op, in, meet_of(op), rule);
          },
      .decompose = Absent{"primitive"},
      .grad = Absent{"bool result"},
      .lower = loop::pointwise([f = row.op](const OpView& op, const loop::Exprs& x) {
        const DType meet = meet_of(op);
        return loop::binary(f, side(op, x, 0, meet), side(op, x, 1, meet));
      }),
      .cost = cost_per_result(1),
      .samples = comparison_samples,
      .rejects = [name = row.name] { return pair_rejects(name); },
      .nondifferentiable = 1,
  };
}

template <class T>
bool eq(T a, T b) {
  return a == b;
}
template <class T>
bool ne(T a, T b) {
  return a != b;
}
template <class T>
bool lt(T a, T b) {
  return a < b;
}
template <class T>
bool le(T a, T b) {
  return a <= b;
}
template <class T>
bool gt(T a, T b) {
  return a > b;
}
template <class T>
bool ge(T a, T b) {
  return a >= b;
}

}  // namespace

CLEAVE_OPS(comparison) {
  using loop::Op;
  return {
      comparison_entry({"eq", "self == other", eq<double>, eq<int64_t>, Op::eq}),
      comparison_entry({"ne", "self != other", ne<double>, ne<int64_t>, Op::ne}),
      comparison_entry({"lt", "self < other", lt<double>, lt<int64_t>, Op::lt}),
      comparison_entry({"le", "self <= other", le<double>, le<int64_t>, Op::le}),
      comparison_entry({"gt", "self > other", gt<double>, gt<int64_t>, Op::gt}),
      comparison_entry({"ge", "self >= other", ge<double>, ge<int64_t>, Op::ge}),
  };
}

}  // namespace cleave
