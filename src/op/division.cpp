// Quotients and remainders.
//
//   div(self, other; rounding_mode=none) -> self / other; integers give f32
//   div(...; rounding_mode="trunc")      -> the quotient without its fraction; integers keep dtype
//   div(...; rounding_mode="floor")      -> the greatest integer <= the quotient
//   fmod(self, other)                    -> self - other * trunc(self / other): sign of self
//   remainder(self, other)               -> self - other * floor(self / other): sign of other
//
//   self, other    tensors that broadcast (C1) on one device (C2), or a number for one of them (C3)
//   rounding_mode  (C4) none, "trunc" or "floor"
//   dtypes         (C5) unless a plain div: not both bool
//                  (C6) where the result is an integer: no element of other is 0
//   y              the operands' promoted dtype
//
// Floating: x / 0 is an infinity, a remainder by 0 is NaN. Floor and remainder follow PyTorch's
// BinaryOpsKernel.cpp (div_floor_floating), which corrects the quotient by the exact remainder.
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

enum class Quotient { exact, trunc, floor, fmod, remainder };

Quotient mode_of(const OpView& op) {
  const std::string* mode = op.attr("rounding_mode").get<std::string>();
  if (mode == nullptr) return Quotient::exact;
  return *mode == "trunc" ? Quotient::trunc : Quotient::floor;
}

DType meet_of(const OpView& op, Quotient q) {
  const DType meet = promoted(op, {0, 1});
  return q == Quotient::exact ? to_floating(meet) : meet;
}

Result<Types> infer_quotient(const OpView& op, Quotient q) {
  const DType meet = meet_of(op, q);
  if (meet == DType::boolean)
    return op.broken("C5", "both operands are bool, expected a number dtype");
  if (is_integer(meet) && op.is_number(1) && op.number(1).as_double() == 0)
    return op.broken("C6", "other is 0, expected a non-zero integer");
  return pointwise_type(op, meet, {0, 1});
}

// ---- reference

Status check_divisors(const OpView& op, const Array* other) {
  if (other == nullptr || numel_of(static_shape(op.out_type(0))) == 0) return {};
  std::vector<int64_t> index(other->shape.size(), 0);
  for (int64_t k = 0; k < other->numel(); ++k) {
    if (other->i[k] == 0)
      return op.broken("C6", "other is 0 at [{}], expected non-zero integers",
                       fmt::join(index, ","));
    next_index(index, other->shape);
  }
  return {};
}

int64_t integer_quotient(int64_t a, int64_t b, Quotient q) {
  if (b == 0) return 0;
  const bool by_minus_one = b == -1;  // the only quotient that can overflow
  const int64_t quotient = by_minus_one ? wrapping_sub(0, a) : a / b;
  const int64_t rest = by_minus_one ? 0 : a % b;
  const bool below = rest != 0 && (rest < 0) != (b < 0);
  switch (q) {
    case Quotient::floor: return below ? quotient - 1 : quotient;
    case Quotient::fmod: return rest;
    case Quotient::remainder: return below ? rest + b : rest;
    default: return quotient;
  }
}

double floor_quotient(double a, double b) {
  if (b == 0) return a / b;
  const double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double whole = std::floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}

double remainder_of(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (b < 0) != (rest < 0) ? rest + b : rest;
}

double floating_quotient(double a, double b, Quotient q) {
  switch (q) {
    case Quotient::exact: return a / b;
    case Quotient::trunc: return std::trunc(a / b);
    case Quotient::floor: return floor_quotient(a, b);
    case Quotient::fmod: return std::fmod(a, b);
    case Quotient::remainder: return remainder_of(a, b);
  }
  return 0;
}

Result<Arrays> reference_quotient(const OpView& op, std::span<const Array* const> in, Quotient q) {
  const DType meet = meet_of(op, q);
  if (is_integer(meet)) CLEAVE_CHECK(check_divisors(op, in[1]));
  PointReference rule;
  rule.floating = [q](std::span<const double> x) { return floating_quotient(x[0], x[1], q); };
  rule.integer = [q](std::span<const int64_t> x) { return integer_quotient(x[0], x[1], q); };
  return reference_pointwise(op, in, meet, rule);
}

// ---- loops

Expr differs_in_sign(const Expr& rest, const Expr& b) {
  const Expr zero = loop::same(b, 0);
  const Expr signs =
      loop::binary(Op::ne, loop::binary(Op::lt, rest, zero), loop::binary(Op::lt, b, zero));
  return loop::binary(Op::logical_and, loop::binary(Op::ne, rest, zero), signs);
}

Expr lower_floor(const Expr& a, const Expr& b) {
  const Expr zero = loop::same(a, 0), one = loop::same(a, 1);
  const Expr rest = loop::binary(Op::fmod, a, b);
  const Expr plain = (a - rest) / b;
  const Expr quotient = loop::select(differs_in_sign(rest, b), plain - one, plain);
  const Expr whole = loop::unary(Op::floor, quotient);
  const Expr up = loop::binary(Op::gt, quotient - whole, loop::same(a, 0.5));
  const Expr near = loop::select(up, whole + one, whole);
  const Expr signed_zero = a / b * zero;
  const Expr result = loop::select(loop::binary(Op::eq, quotient, zero), signed_zero, near);
  return loop::select(loop::binary(Op::eq, b, zero), a / b, result);
}

Expr lower_remainder(const Expr& a, const Expr& b) {
  const Expr rest = loop::binary(Op::fmod, a, b);
  return loop::select(differs_in_sign(rest, b), rest + b, rest);
}

Expr lower_floating(const Expr& a, const Expr& b, Quotient q) {
  switch (q) {
    case Quotient::exact: return a / b;
    case Quotient::trunc: return loop::unary(Op::trunc, a / b);
    case Quotient::floor: return lower_floor(a, b);
    case Quotient::fmod: return loop::binary(Op::fmod, a, b);
    case Quotient::remainder: return lower_remainder(a, b);
  }
  return a;
}

Op integer_op(Quotient q) {
  switch (q) {
    case Quotient::floor: return Op::floordiv;
    case Quotient::fmod: return Op::truncmod;
    case Quotient::remainder: return Op::floormod;
    default: return Op::truncdiv;
  }
}

loop::Exprs lower_quotient(loop::KernelBuilder& k, const OpView& op, const loop::Exprs& index,
                           Quotient q) {
  const DType meet = meet_of(op, q);
  const Expr a = loop::load_as(k, op, 0, index, meet), b = loop::load_as(k, op, 1, index, meet);
  if (is_floating(meet)) return {lower_floating(a, b, q)};
  if (!op.is_number(1))
    k.check(loop::binary(Op::ne, b, loop::same(b, 0)),
            op.name() + ": C6: other has a 0, expected non-zero integers");
  return {loop::binary(integer_op(q), a, b)};
}

// ---- gradients

// d(a/b) = da / b - (a/b) / b db, the second term in f32 for bf16 and f16; a rounded quotient is a
// step function.
Values grad_div(Builder& b, const GradView& op) {
  if (mode_of(op) != Quotient::exact) return op.no_grads();
  const ValueId g = op.dout(0);
  return {grad_to(b, op, 0, [&] { return b.div(g, operand_of(op, 1)); }), grad_to(b, op, 1, [&] {
            const auto widened = [&](ValueId v) { return b.convert(v, wide(b.type(v).dtype)); };
            return b.mul(b.neg(widened(g)), b.div(widened(op.out(0)), operand_of(op, 1)));
          })};
}

// d(a - b * round(a/b)) = da - round(a/b) db
GradFn grad_rest(const char* rounding) {
  return [rounding](Builder& b, const GradView& op) -> Values {
    const ValueId g = op.dout(0);
    return {grad_to(b, op, 0, [&] { return g; }), grad_to(b, op, 1, [&] {
              const ValueId times = b.call1("div", {operand_of(op, 0), operand_of(op, 1)},
                                            {{"rounding_mode", rounding}});
              return b.mul(b.neg(g), times);
            })};
  };
}

// ---- entries

// Quotients strictly between whole numbers, so that rounding is the same in every precision.
std::vector<Sample> step_samples() {
  const std::vector<double> a = {-3.75, -1.25, 0.5, 1.75, 2.75, 3.5};
  const std::vector<double> b = {1.0, -0.5, 2.0, 1.5, -1.0, 0.75};
  return {{{f32({2, 3}).with(a), f32({2, 3}).with(b)}},
          {{f32({6, 1}).with(a), f32({1, 2}).with({1.0, -1.5})}},
          {{f64({6}).with(a), f64({6}).with(b)}},
          {{bf16({6}).with(a), bf16({6}).with(b)}},
          {{f16({6}).with(a), f32({}).with({2.0})}},
          {{f32({0}), f32({3, 1}).range(1, 2)}},
          {{f32({6}).with(a), 1.5}},
          {{f32({6}).with(a), -2}},
          {{i64({3}).with({-3, 4, 7}), 2.5}}};
}

std::vector<Sample> integer_quotients() {
  const std::vector<Sample> more = {
      {{i64({6}).with({7, -7, 7, -7, 0, 6}), i64({6}).with({2, 2, -2, -2, 5, -3})}},
      {{i64({2}).with({-9223372036854775808.0, 9}), i64({2}).with({-1, -1})}},
      {{i32({4}), 3}},
      {{i64({4}), -4}},
      {{boolean({3}), 2}},
      {{i64({2, 3}), i64({2, 1}).with({-3, 2})}},
      {{sample(DType::u8, {3}).with({7, 200, 255}), 3}}};
  return joined({integer_pairs(1, 5), more});
}

std::vector<Sample> in_mode(std::vector<Sample> samples, const char* mode) {
  for (Sample& s : samples) s.attrs = {{"rounding_mode", mode}};
  return samples;
}

std::vector<Sample> div_samples() {
  const PairRange r{-2, 2, 0.5, 2};
  const std::vector<Sample> more = {{{f32({3}), f32({3}).range(-2, -0.5)}},
                                    {{2.0, f32({3}).range(0.5, 2)}},
                                    {{1, i64({3}).range(1, 5)}},
                                    {{boolean({2}), boolean({2}).with({1, 1})}},
                                    {{f32({3}).with({1, -1, 0}), f32({}).with({4})}}};
  return joined({floating_pairs(r), right_numbers(r, {1.5, 2, -0.3}), integer_pairs(1, 5), more,
                 in_mode(joined({step_samples(), integer_quotients()}), "trunc"),
                 in_mode(joined({step_samples(), integer_quotients()}), "floor")});
}

std::vector<Reject> rest_rejects(const std::string& name, const Sample& bools, const Sample& zero) {
  std::vector<Reject> r = pair_rejects(name);
  r.push_back({"C5", bools, name + ": C5: both operands are bool, expected a number dtype"});
  r.push_back({"C6", zero, name + ": C6: other is 0, expected a non-zero integer"});
  return r;
}

std::vector<Reject> div_rejects() {
  std::vector<Reject> r =
      rest_rejects("div", {{boolean({2}), boolean({2})}, {{"rounding_mode", "floor"}}},
                   {{i64({2}), 0}, {{"rounding_mode", "trunc"}}});
  r.push_back(no_tensor_reject("div"));
  r.push_back({"C4",
               {{f32({2}), f32({2})}, {{"rounding_mode", "up"}}},
               "div: C4: rounding_mode is \"up\", expected \"trunc\" or \"floor\""});
  return r;
}

OpDef div_entry() {
  return OpDef{
      .name = "div",
      .signature =
          "(Tensor|Scalar self, Tensor|Scalar other, *, str? rounding_mode=None) -> Tensor",
      .summary = "self / other, exact or rounded to an integer",
      .source = "aten::div.Tensor, aten::div.Scalar, aten::div.Tensor_mode, PyTorch 2.13",
      .traits = pointwise_traits,
      .infer = [](const OpView& op) -> Result<Types> {
        if (op.given("rounding_mode")) {
          const std::string& mode = op.str_attr("rounding_mode");
          if (mode != "trunc" && mode != "floor")
            return op.broken("C4", "rounding_mode is {}, expected \"trunc\" or \"floor\"",
                             quoted(mode));
        }
        return infer_quotient(op, mode_of(op));
      },
      .reference =
          [](const OpView& op, std::span<const Array* const> in) {
            return reference_quotient(op, in, mode_of(op));
          },
      .decompose = Absent{"primitive"},
      .grad = grad_div,
      .lower = loop::broadcasting(
          [](loop::KernelBuilder& k, const OpView& op, const loop::Exprs& index) {
            return lower_quotient(k, op, index, mode_of(op));
          }),
      .cost = cost_per_result(1),
      .samples = div_samples,
      .rejects = div_rejects,
  };
}

OpDef rest_entry(const char* name, const char* signature, const char* summary, Quotient q,
                 const char* rounding) {
  const auto samples = [q] {
    Samples out = joined({step_samples(), integer_quotients()});
    if (q == Quotient::remainder) out.push_back({{-5, i64({3}).with({2, 3, -3})}});
    return out;
  };
  const auto rejects = [q, name] {
    Rejects out = rest_rejects(name, {{boolean({2}), boolean({2})}}, {{i64({2}), 0}});
    if (q == Quotient::remainder) out.push_back(no_tensor_reject(name));
    return out;
  };
  return OpDef{
      .name = name,
      .signature = signature,
      .summary = summary,
      .source = fmt::format("aten::{0}.Tensor, aten::{0}.Scalar, PyTorch 2.13", name),
      .traits = pointwise_traits,
      .infer = [q](const OpView& op) { return infer_quotient(op, q); },
      .reference = [q](const OpView& op,
                       std::span<const Array* const> in) { return reference_quotient(op, in, q); },
      .decompose = Absent{"primitive"},
      .grad = grad_rest(rounding),
      .lower = loop::broadcasting(
          [q](loop::KernelBuilder& k, const OpView& op, const loop::Exprs& index) {
            return lower_quotient(k, op, index, q);
          }),
      .cost = cost_per_result(4),
      .samples = samples,
      .rejects = rejects,
  };
}

}  // namespace

CLEAVE_OPS(division) {
  return {
      div_entry(),
      rest_entry("fmod", "(Tensor self, Tensor|Scalar other) -> Tensor",
                 "the remainder with the sign of self", Quotient::fmod, "trunc"),
      rest_entry("remainder", "(Tensor|Scalar self, Tensor|Scalar other) -> Tensor",
                 "the remainder with the sign of other", Quotient::remainder, "floor"),
  };
}

}  // namespace cleave
