// Algebraic identities that hold bit for bit.
//
//   neg(neg x) -> x, logical_not(logical_not x) -> x     a sign or a bit flipped twice; x bool
//   bitwise_not(bitwise_not x) -> x
//   abs(neg x) -> abs x                                  abs drops the sign that neg flips
//   f(f(x)) -> f(x)                                      f: abs, relu, sign: f(x) is its own
//   f(g(x)) -> g(x)                                      f, g: ceil, floor, trunc: g(x) is whole
//   add(x, neg y) -> sub(x, y), sub(x, neg y) -> add     IEEE defines x - y as x + (-y)
//   mul(neg x, neg y) -> mul(x, y), div too              signs and magnitudes are independent
//   mul(x, -1) -> neg x                                  magnitude times 1
//   div(x, 2^k) -> mul(x, 2^-k)                          both round the same real number once;
//                                                        |k| <= 14, so that f16 holds 2^-k too
//   mul(mul(x, 2^j), 2^k) -> mul(x, 2^(j+k)), j, k >= 0  scaling up doesn't round, and an overflow
//                                                        on the way is one at the end
//   mul(mul(x, a), b) -> mul(x, a*b), add too            integers wrap: a ring
//   maximum, minimum(x, x) -> x                          NaN gives NaN
//   bitwise_and, bitwise_or(x, x) -> x, logical_ too     the latter of bool
//   logical_not(eq(x, y)) -> ne(x, y) and back           NaN equals nothing, and ne is true for it
//   logical_not(lt(x, y)) -> ge(x, y), le, gt, ge        integers only: with NaN both are false
//   where(c, x, x) -> x   where(not c, x, y) -> where(c, y, x)   where(c, where(c, x, _), y) and
//   where(c, x, where(c, _, y)) -> where(c, x, y)        elements are selected, not computed
//
// Only NaN's sign and payload may change, which no operator of cleave reads. Other sums and
// products of zeros, x * 0 or x - x, have other results for NaN and infinities. Inner calls must
// have no other user: otherwise they are computed anyway, and the rewrite gains nothing.
#include <algorithm>
#include <cmath>

#include "pass/passes.h"
#include "pass/stands_for.h"

namespace cleave {
namespace {

using Ops = std::vector<std::string>;
using When = bool (*)(const Match&);

DType dtype_of_result(const Match& m) { return m.graph().type(m.outputs()[0]).dtype; }

bool gives_x(const Match& m) { return may_stand_for(m.graph(), m["x"], m.outputs()[0]); }

Rule to_x(std::string name, Pattern search) {
  return {.name = std::move(name),
          .search = {std::move(search)},
          .when = gives_x,
          .build = [](Builder&, const Match& m) -> Values { return {m["x"]}; }};
}

// Operand k of a captured call: a value or a number.
CallOperand operand(const Match& m, std::string_view name, int k) {
  const OpView call = m.call(name);
  if (call.is_number(k)) return call.number(k);
  return call.in(k);
}

// A call of the named operator on the operands of the captured call `inner`.
Rule with_operands(std::string name, Pattern search, std::string op, When when = nullptr) {
  return {.name = std::move(name),
          .search = {std::move(search)},
          .when = when,
          .build = [op](Builder& b, const Match& m) -> Values {
            return {b.call1(op, {operand(m, "inner", 0), operand(m, "inner", 1)})};
          }};
}

// y, and x if it is negated too, must be negated in the dtype of the result: neg(i8) + i64 wraps
// before it is widened.
bool turns_in_result(const Match& m) {
  const DType x = m.type("x").dtype, y = m.type("y").dtype, result = dtype_of_result(m);
  return x != DType::boolean &&
         ((is_floating(y) && is_floating(x)) || (x == result && y == result));
}

Rule with_xy(std::string name, Pattern search, std::string op) {
  return {.name = std::move(name),
          .search = {std::move(search)},
          .when = turns_in_result,
          .build = [op](Builder& b, const Match& m) -> Values {
            return {b.call1(op, {m["x"], m["y"]})};
          }};
}

bool compares_integers(const Match& m) {
  const OpView call = m.call("inner");
  for (int k = 0; k < 2; ++k)
    if (call.is_number(k) ? call.number(k).get<double>() != nullptr
                          : is_floating(call.in_type(k).dtype))
      return false;
  return true;
}

// Whether v is a power of 2 whose reciprocal f16 can represent too.
bool is_small_power(double v) {
  int exponent = 0;
  return std::frexp(v, &exponent) == 0.5 && std::abs(exponent - 1) <= 14;
}

Rule divide_by_power(const Pattern& x) {
  return {.name = "divide_by_power",
          .search = {call("div", {x, number("k")})},
          .when =
              [](const Match& m) {
                return is_floating(m.type("x").dtype) && is_small_power(m.scalar("k"));
              },
          .build = [](Builder& b, const Match& m) -> Values {
            return {b.mul(m["x"], 1 / m.scalar("k"))};
          }};
}

Pattern number_twice(const char* op, const Pattern& x) {
  const Pattern inner = call(op, {x, number("j")}).commutes();
  return call(op, {inner, number("k")}).commutes();
}

Rule scale_twice(const Pattern& x) {
  return {.name = "scale_twice",
          .search = {number_twice("mul", x)},
          .when =
              [](const Match& m) {
                const double j = m.scalar("j"), k = m.scalar("k");
                return is_floating(m.type("x").dtype) && j >= 1 && k >= 1 && is_small_power(j) &&
                       is_small_power(k) && is_small_power(j * k);
              },
          .build = [](Builder& b, const Match& m) -> Values {
            return {b.mul(m["x"], m.scalar("j") * m.scalar("k"))};
          }};
}

// Whether j and k are integers so small that their sum or product is a constant as well.
bool has_small_integers(const Match& m) {
  for (const char* name : {"j", "k"}) {
    const Dim* d = m.attr(name).get<Dim>();
    if (!d || !d->is_const() || std::abs(d->value()) >= int64_t{1} << 30) return false;
  }
  return is_integer(dtype_of_result(m)) && m.type("x").dtype == dtype_of_result(m);
}

Rule integers_twice(const char* name, const char* op, const Pattern& x) {
  return {.name = name,
          .search = {number_twice(op, x)},
          .when = has_small_integers,
          .build = [op](Builder& b, const Match& m) -> Values {
            const int64_t j = m.integer("j"), k = m.integer("k");
            return {b.call1(op, {m["x"], AttrValue(op == std::string("mul") ? j * k : j + k)})};
          }};
}

Rule minus_one(const Pattern& x) {
  return {.name = "minus_one",
          .search = {call("mul", {x, number(-1.0)}).commutes()},
          .when = [](const Match& m) { return has_same_type(m.graph(), m["x"], m.outputs()[0]); },
          .build = [](Builder& b, const Match& m) -> Values { return {b.neg(m["x"])}; }};
}

// One of the two remaining operands has the result's type, and the other doesn't change it.
bool keeps_type(const Match& m, const CallOperand& a, const CallOperand& b) {
  const ValueId y = m.outputs()[0];
  const auto is_result = [&](const CallOperand& o) {
    return !o.values.empty() && has_same_type(m.graph(), o.values[0], y);
  };
  const auto fits = [&](const CallOperand& o) {
    return o.values.empty() || m.graph().type(o.values[0]).dtype == m.graph().type(y).dtype;
  };
  return (is_result(a) && fits(b)) || (is_result(b) && fits(a));
}

// Builds where(c, operand `self` of the call `from`, operand `other` of the call `to`).
Rule choose(std::string name, Pattern search, const char* from, int self, const char* to,
            int other) {
  return {.name = std::move(name),
          .search = {std::move(search)},
          .when =
              [=](const Match& m) {
                return keeps_type(m, operand(m, from, self), operand(m, to, other));
              },
          .build = [=](Builder& b, const Match& m) -> Values {
            return {b.call1("where", {m["c"], operand(m, from, self), operand(m, to, other)})};
          }};
}

std::vector<Rule> where_rules(const Pattern& x) {
  const auto is_bool = [](const Type& t) { return t.dtype == DType::boolean; };
  const Pattern c = any("c"), side = either({any(), number("")}),
                inner = call("where", {c, side, side}).named("inner"),
                not_c = call("logical_not", {c.where(is_bool)});
  return {to_x("where_same", call("where", {any(), x, x})),
          choose("where_not", call("where", {not_c, side, side}).named("y"), "y", 2, "y", 1),
          choose("where_self", call("where", {c, inner, side}).named("y"), "inner", 1, "y", 2),
          choose("where_other", call("where", {c, side, inner}).named("y"), "y", 1, "inner", 2)};
}

std::vector<Rule> compare_rules() {
  const auto negated = [](const char* op) {
    const Pattern side = either({any(), number("")});
    return call("logical_not", {call(op, {any(), side}).named("inner")});
  };
  return {with_operands("not_eq", negated("eq"), "ne"),
          with_operands("not_ne", negated("ne"), "eq"),
          with_operands("not_lt", negated("lt"), "ge", compares_integers),
          with_operands("not_le", negated("le"), "gt", compares_integers),
          with_operands("not_gt", negated("gt"), "le", compares_integers),
          with_operands("not_ge", negated("ge"), "lt", compares_integers)};
}

std::vector<Rule> sign_rules(const Pattern& x) {
  const Pattern neg_x = call("neg", {x}), neg_y = call("neg", {any("y")});
  return {to_x("neg_neg", call("neg", {neg_x})),
          {.name = "abs_neg",
           .search = {call("abs", {neg_x})},
           .when = [](const Match& m) { return m.type("x").dtype != DType::u8; },
           .build = [](Builder& b, const Match& m) -> Values { return {b.abs(m["x"])}; }},
          with_xy("add_neg", call("add", {x, neg_y}).commutes(), "sub"),
          with_xy("sub_neg", call("sub", {x, neg_y}), "add"),
          with_xy("mul_neg_neg", call("mul", {neg_x, neg_y}), "mul"),
          with_xy("div_neg_neg", call("div", {neg_x, neg_y}), "div"),
          minus_one(x)};
}

// Rules whose result is x or the inner call.
std::vector<Rule> idempotent_rules(const Pattern& x) {
  const auto twice = [](const char* op) { return call(op, {call(op, {any()}).named("x")}); };
  const Ops whole = {"ceil", "floor", "trunc"};
  return {to_x("not_not", call("logical_not", {call("logical_not", {x})})),
          to_x("bits_not_not", call("bitwise_not", {call("bitwise_not", {x})})),
          to_x("abs_twice", twice("abs")),
          to_x("relu_twice", twice("relu")),
          to_x("sign_twice", twice("sign")),
          to_x("round_whole", call(whole, {call(whole, {any()}).named("x")})),
          to_x("extremum_same", call(Ops{"maximum", "minimum"}, {x, x})),
          to_x("bits_same", call(Ops{"bitwise_and", "bitwise_or"}, {x, x})),
          to_x("logical_same", call(Ops{"logical_and", "logical_or"}, {x, x}))};
}

}  // namespace

Pass fold_algebra() {
  const Pattern x = any("x");
  Pass pass{.name = "fold_algebra", .summary = "algebra that holds to the last bit"};
  for (std::vector<Rule> rules :
       {sign_rules(x), idempotent_rules(x), compare_rules(), where_rules(x),
        std::vector<Rule>{divide_by_power(x), scale_twice(x),
                          integers_twice("add_integers", "add", x),
                          integers_twice("mul_integers", "mul", x)}})
    std::ranges::move(rules, std::back_inserter(pass.rules));
  return pass;
}

}  // namespace cleave
