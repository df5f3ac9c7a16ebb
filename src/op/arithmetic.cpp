// Sums, differences and products of two operands, either of which may be a number.
//
//   add(self, other; alpha=1)  -> self + alpha * other
//   sub(self, other; alpha=1)  -> self - alpha * other
//   rsub(self, other; alpha=1) -> other - alpha * self
//   mul(self, other)           -> self * other
//
//   self, other  tensors that broadcast (C1) on one device (C2), or a number for one of them (C3)
//   alpha        (C4) true or false only if the result is bool; no float if it is an integer
//                (C5) sub and rsub: no operand is bool
//   y            the operands' promoted dtype; integers wrap; add of bool is `or`,
//                mul is `and`
#include "op/cost.h"
#include "op/entry.h"
#include "op/pair_samples.h"
#include "op/pointwise.h"
#include "op/pointwise_lower.h"
#include "op/pointwise_reference.h"

namespace cleave {
namespace {

DType meet_of(const OpView& op) { return promoted(op, {0, 1}); }

Status check_alpha(const OpView& op, DType meet) {
  const AttrValue& alpha = op.attr("alpha");
  if (alpha.get<bool>() && meet != DType::boolean)
    return op.broken("C4", "alpha is {} and the result {}, expected a number", alpha.text(),
                     name_of(meet));
  if (alpha.get<double>() && !is_floating(meet))
    return op.broken("C4", "alpha is {} and the result {}, expected an integer", alpha.text(),
                     name_of(meet));
  return {};
}

Status check_not_bool(const OpView& op) {
  for (int k : {0, 1}) {
    const char* name = k == 0 ? "self" : "other";
    if (op.is_number(k) && op.number(k).get<bool>())
      return op.broken("C5", "{} is {}, expected a number; logical_not inverts a mask", name,
                       op.number(k).text());
    if (op.has(k) && op.in_type(k).dtype == DType::boolean)
      return op.broken("C5", "{} is {}, expected a number dtype; logical_not inverts a mask", name,
                       op.in_type(k).text());
  }
  return {};
}

Result<Types> infer_sum(const OpView& op) {
  CLEAVE_CHECK(check_alpha(op, meet_of(op)));
  return pointwise_type(op, meet_of(op), {0, 1});
}

Result<Types> infer_difference(const OpView& op) {
  CLEAVE_CHECK(check_not_bool(op));
  return infer_sum(op);
}

// a + factor * b with factor = alpha or -alpha; rsub swaps the operands.
Result<Arrays> reference_sum(const OpView& op, std::span<const Array* const> in, double sign, int a,
                             int b) {
  const DType meet = meet_of(op);
  const double alpha = sign * op.float_attr("alpha");
  const int64_t whole = is_floating(meet) ? 0 : truncate_to(DType::i64, alpha);
  PointReference rule;
  rule.floating = [=](std::span<const double> x) { return x[a] + alpha * x[b]; };
  rule.integer = [=](std::span<const int64_t> x) -> int64_t {
    if (meet == DType::boolean) return x[a] != 0 || (whole != 0 && x[b] != 0);
    return wrapping_add(x[a], wrapping_mul(whole, x[b]));
  };
  return reference_pointwise(op, in, meet, rule);
}

// alpha * x, or x if alpha is 1.
loop::Expr scaled(const OpView& op, const loop::Expr& x, DType meet) {
  if (op.float_attr("alpha") == 1) return x;
  return loop::number_constant(op.attr("alpha"), meet) * x;
}

loop::Expr lower_add(const OpView& op, const loop::Exprs& x) {
  const DType meet = meet_of(op);
  const loop::Expr a = loop::operand_as(op, x, 0, meet), b = loop::operand_as(op, x, 1, meet);
  if (meet == DType::boolean)
    return op.float_attr("alpha") == 0 ? a : loop::binary(loop::Op::logical_or, a, b);
  return a + scaled(op, b, meet);
}

loop::Expr lower_sub(const OpView& op, const loop::Exprs& x) {
  const DType meet = meet_of(op);
  return loop::operand_as(op, x, 0, meet) - scaled(op, loop::operand_as(op, x, 1, meet), meet);
}

loop::Expr lower_mul(const OpView& op, const loop::Exprs& x) {
  const DType meet = meet_of(op);
  const loop::Expr a = loop::operand_as(op, x, 0, meet), b = loop::operand_as(op, x, 1, meet);
  return meet == DType::boolean ? loop::binary(loop::Op::logical_and, a, b) : a * b;
}

ValueId times_alpha(Builder& b, const GradView& op, ValueId g) {
  return op.float_attr("alpha") == 1 ? g : b.mul(g, op.attr("alpha"));
}

Values grad_add(Builder& b, const GradView& op) {
  return {grad_to(b, op, 0, [&] { return op.dout(0); }),
          grad_to(b, op, 1, [&] { return times_alpha(b, op, op.dout(0)); })};
}

Values grad_sub(Builder& b, const GradView& op) {
  return {grad_to(b, op, 0, [&] { return op.dout(0); }),
          grad_to(b, op, 1, [&] { return b.neg(times_alpha(b, op, op.dout(0))); })};
}

Values grad_rsub(Builder& b, const GradView& op) {
  return {grad_to(b, op, 0, [&] { return b.neg(times_alpha(b, op, op.dout(0))); }),
          grad_to(b, op, 1, [&] { return op.dout(0); })};
}

Values grad_mul(Builder& b, const GradView& op) {
  return {grad_to(b, op, 0, [&] { return b.mul(op.dout(0), operand_of(op, 1)); }),
          grad_to(b, op, 1, [&] { return b.mul(op.dout(0), operand_of(op, 0)); })};
}

std::vector<Sample> sum_samples() {
  const std::vector<Sample> more = {{{2.5, f32({4})}},
                                    {{1, f64({2})}},
                                    {{f32({2, 3}), f32({3})}, {{"alpha", 2}}},
                                    {{bf16({3}), bf16({3})}, {{"alpha", -0.5}}},
                                    {{f32({3}), 2.0}, {{"alpha", 0.25}}},
                                    {{i64({3}), 2}},
                                    {{i64({3}), 1.5}},
                                    {{i64({3}), i64({3})}, {{"alpha", -3}}},
                                    {{i64({2}).with({9e18, -9e18}), i64({2}).with({9e18, -9e18})}},
                                    {{sample(DType::u8, {2}).with({3, 250}), 300}}};
  return joined(
      {floating_pairs({}), right_numbers({}, {1.5, 2, -0.1}), integer_pairs(-9, 10), more});
}

std::vector<Reject> sum_rejects(const std::string& name) {
  std::vector<Reject> r = pair_rejects(name);
  r.push_back({"C1",
               {{f32({2, 3}), f32({2, 4})}},
               name + ": C1: shapes [2,3] and [2,4] don't broadcast: dim -1 is 3 and 4, expected "
                      "equal sizes or 1"});
  r.push_back({"C4",
               {{i64({2}), i64({2})}, {{"alpha", 1.5}}},
               name + ": C4: alpha is 1.5 and the result i64, expected an integer"});
  r.push_back({"C4",
               {{f32({2}), f32({2})}, {{"alpha", true}}},
               name + ": C4: alpha is true and the result f32, expected a number"});
  return r;
}

std::vector<Reject> difference_rejects(const std::string& name) {
  std::vector<Reject> r = sum_rejects(name);
  r.push_back(
      {"C5",
       {{f32({2}), boolean({2})}},
       name + ": C5: other is bool[2], expected a number dtype; logical_not inverts a mask"});
  r.push_back({"C5",
               {{f32({2}), true}},
               name + ": C5: other is true, expected a number; logical_not inverts a mask"});
  return r;
}

std::vector<Reject> with(std::vector<Reject> into, Reject more) {
  into.push_back(std::move(more));
  return into;
}

OpDef add_entry() {
  return OpDef{
      .name = "add",
      .signature = "(Tensor|Scalar self, Tensor|Scalar other, *, Scalar alpha=1) -> Tensor",
      .summary = "self + alpha * other",
      .source = "aten::add.Tensor, aten::add.Scalar, PyTorch 2.13",
      .traits = pointwise_traits,
      .infer = infer_sum,
      .reference = [](const OpView& op,
                      std::span<const Array* const> in) { return reference_sum(op, in, 1, 0, 1); },
      .decompose = Absent{"primitive"},
      .grad = grad_add,
      .lower = loop::pointwise(lower_add),
      .cost = cost_per_result(1),
      .samples = [] { return joined({sum_samples(), bool_pairs()}); },
      .rejects = [] { return with(sum_rejects("add"), no_tensor_reject("add")); },
  };
}

OpDef sub_entry() {
  return OpDef{
      .name = "sub",
      .signature = "(Tensor|Scalar self, Tensor|Scalar other, *, Scalar alpha=1) -> Tensor",
      .summary = "self - alpha * other",
      .source = "aten::sub.Tensor, aten::sub.Scalar, PyTorch 2.13",
      .traits = pointwise_traits,
      .infer = infer_difference,
      .reference = [](const OpView& op,
                      std::span<const Array* const> in) { return reference_sum(op, in, -1, 0, 1); },
      .decompose = Absent{"primitive"},
      .grad = grad_sub,
      .lower = loop::pointwise(lower_sub),
      .cost = cost_per_result(1),
      .samples = sum_samples,
      .rejects = [] { return with(difference_rejects("sub"), no_tensor_reject("sub")); },
  };
}

OpDef rsub_entry() {
  const auto samples = [] {
    Samples out = sum_samples();
    std::erase_if(out, [](const Sample& s) { return s.operands[0].tensors.empty(); });
    return out;
  };
  return OpDef{
      .name = "rsub",
      .signature = "(Tensor self, Tensor|Scalar other, *, Scalar alpha=1) -> Tensor",
      .summary = "other - alpha * self",
      .source = "aten::rsub.Tensor, aten::rsub.Scalar, PyTorch 2.13",
      .traits = pointwise_traits,
      .infer = infer_difference,
      .reference = [](const OpView& op,
                      std::span<const Array* const> in) { return reference_sum(op, in, -1, 1, 0); },
      .decompose = [](Builder& b, const OpView& op) -> Values {
        return {
            b.call1("sub", {operand_of(op, 1), operand_of(op, 0)}, {{"alpha", op.attr("alpha")}})};
      },
      .grad = grad_rsub,
      .lower = loop::by_decomposition(),
      .cost = cost_per_result(1),
      .samples = samples,
      .rejects = [] { return difference_rejects("rsub"); },
  };
}

OpDef mul_entry() {
  const auto samples = [] {
    Samples out = joined({sum_samples(), bool_pairs()});
    std::erase_if(out, [](const Sample& s) { return !s.attrs.empty(); });
    return out;
  };
  return OpDef{
      .name = "mul",
      .signature = "(Tensor|Scalar self, Tensor|Scalar other) -> Tensor",
      .summary = "self * other",
      .source = "aten::mul.Tensor, aten::mul.Scalar, PyTorch 2.13",
      .traits = pointwise_traits,
      .infer = [](const OpView& op) { return pointwise_type(op, meet_of(op), {0, 1}); },
      .reference =
          [](const OpView& op, std::span<const Array* const> in) {
            return reference_pointwise(
                op, in, meet_of(op),
                {.floating = [](std::span<const double> x) { return x[0] * x[1]; },
                 .integer = [](std::span<const int64_t> x) { return wrapping_mul(x[0], x[1]); }});
          },
      .decompose = Absent{"primitive"},
      .grad = grad_mul,
      .lower = loop::pointwise(lower_mul),
      .cost = cost_per_result(1),
      .samples = samples,
      .rejects = [] { return with(pair_rejects("mul"), no_tensor_reject("mul")); },
  };
}

}  // namespace

CLEAVE_OPS(arithmetic) { return {add_entry(), sub_entry(), rsub_entry(), mul_entry()}; }

}  // namespace cleave
