// Elementwise functions of one operand, and of two or three broadcast against each other.
#include "trace/record.h"

namespace cleave {

using trace::Arg;
using trace::record1;

#define CLEAVE_UNARY(name)                           \
  Tensor name(const Tensor& self, Location at) {     \
    trace::require_defined(#name, "self", self, at); \
    return record1(#name, {self}, {}, at);           \
  }
#define CLEAVE_BINARY(name)                                             \
  Tensor name(const Operand& self, const Operand& other, Location at) { \
    return record1(#name, {self, other}, {}, at);                       \
  }

CLEAVE_UNARY(neg)
CLEAVE_UNARY(abs)
CLEAVE_UNARY(sign)
CLEAVE_UNARY(exp)
CLEAVE_UNARY(expm1)
CLEAVE_UNARY(log)
CLEAVE_UNARY(log2)
CLEAVE_UNARY(log10)
CLEAVE_UNARY(log1p)
CLEAVE_UNARY(sqrt)
CLEAVE_UNARY(rsqrt)
CLEAVE_UNARY(reciprocal)
CLEAVE_UNARY(sin)
CLEAVE_UNARY(cos)
CLEAVE_UNARY(tan)
CLEAVE_UNARY(asin)
CLEAVE_UNARY(acos)
CLEAVE_UNARY(atan)
CLEAVE_UNARY(sinh)
CLEAVE_UNARY(cosh)
CLEAVE_UNARY(tanh)
CLEAVE_UNARY(asinh)
CLEAVE_UNARY(acosh)
CLEAVE_UNARY(atanh)
CLEAVE_UNARY(erf)
CLEAVE_UNARY(sigmoid)
CLEAVE_UNARY(relu)
CLEAVE_UNARY(silu)
CLEAVE_UNARY(floor)
CLEAVE_UNARY(ceil)
CLEAVE_UNARY(trunc)
CLEAVE_UNARY(round)
CLEAVE_UNARY(isnan)
CLEAVE_UNARY(isinf)
CLEAVE_UNARY(logical_not)
CLEAVE_UNARY(bitwise_not)

Tensor square(const Tensor& self, Location at) { return pow(self, 2, at); }

// log(1 + exp(x)), and x itself if x > 20: the difference is below f32's rounding. The argument of
// exp is clamped there too, since an infinite exp would make the gradient 0 * inf.
Tensor softplus(const Tensor& self, Location at) {
  const Tensor smooth = log1p(exp(clamp(self, std::nullopt, Number(20.0), at), at), at);
  return where(gt(self, 20.0, at), self, smooth, at);
}

Tensor gelu(const Tensor& self, const std::string& approximate, Location at) {
  trace::require_defined("gelu", "self", self, at);
  return record1("gelu", {self}, {{"approximate", approximate}}, at);
}

Tensor elu(const Tensor& self, double alpha, Location at) {
  trace::require_defined("elu", "self", self, at);
  return record1("elu", {self}, {{"alpha", alpha}}, at);
}

Tensor leaky_relu(const Tensor& self, double negative_slope, Location at) {
  trace::require_defined("leaky_relu", "self", self, at);
  return record1("leaky_relu", {self}, {{"negative_slope", negative_slope}}, at);
}

Tensor hardtanh(const Tensor& self, double min_val, double max_val, Location at) {
  trace::require_defined("hardtanh", "self", self, at);
  return record1("hardtanh", {self}, {{"min_val", min_val}, {"max_val", max_val}}, at);
}

Tensor clamp(const Tensor& self, std::optional<Number> min, std::optional<Number> max,
             Location at) {
  trace::require_defined("clamp", "self", self, at);
  std::vector<Arg> args{self};
  args.emplace_back(min ? Arg(Operand(*min, at)) : Arg(Tensor()));
  args.emplace_back(max ? Arg(Operand(*max, at)) : Arg(Tensor()));
  return record1("clamp", args, {}, at);
}

CLEAVE_BINARY(mul)
CLEAVE_BINARY(pow)
CLEAVE_BINARY(fmod)
CLEAVE_BINARY(remainder)
CLEAVE_BINARY(atan2)
CLEAVE_BINARY(maximum)
CLEAVE_BINARY(minimum)
// ATen's comparisons take their number on the right: 3 >= x becomes x <= 3.
#define CLEAVE_COMPARISON(name, turned)                                   \
  Tensor name(const Operand& self, const Operand& other, Location at) {   \
    if (self.is_number()) return record1(#turned, {other, self}, {}, at); \
    return record1(#name, {self, other}, {}, at);                         \
  }
CLEAVE_COMPARISON(eq, eq)
CLEAVE_COMPARISON(ne, ne)
CLEAVE_COMPARISON(lt, gt)
CLEAVE_COMPARISON(le, ge)
CLEAVE_COMPARISON(gt, lt)
CLEAVE_COMPARISON(ge, le)
#undef CLEAVE_COMPARISON
CLEAVE_BINARY(logical_and)
CLEAVE_BINARY(logical_or)
CLEAVE_BINARY(logical_xor)
CLEAVE_BINARY(bitwise_and)
CLEAVE_BINARY(bitwise_or)
CLEAVE_BINARY(bitwise_xor)
#undef CLEAVE_UNARY
#undef CLEAVE_BINARY

Tensor add(const Operand& self, const Operand& other, const Number& alpha, Location at) {
  return record1("add", {self, other}, {{"alpha", trace::attr_of(alpha)}}, at);
}

Tensor sub(const Operand& self, const Operand& other, const Number& alpha, Location at) {
  return record1("sub", {self, other}, {{"alpha", trace::attr_of(alpha)}}, at);
}

Tensor div(const Operand& self, const Operand& other, const std::string& rounding_mode,
           Location at) {
  if (rounding_mode.empty()) return record1("div", {self, other}, {}, at);
  return record1("div", {self, other}, {{"rounding_mode", rounding_mode}}, at);
}

Tensor where(const Tensor& condition, const Operand& self, const Operand& other, Location at) {
  trace::require_defined("where", "condition", condition, at);
  return record1("where", {condition, self, other}, {}, at);
}

Tensor masked_fill(const Tensor& self, const Tensor& mask, const Number& value, Location at) {
  trace::require_defined("masked_fill", "mask", mask, at);
  // The value is in self's dtype, as in PyTorch: a float into an integer tensor is refused.
  if (value.kind() == Number::Kind::floating && !is_floating(self.dtype()))
    trace::refuse(at, "masked_fill: a floating value {} for {}", value.floating(),
                  self.type_text());
  const Operand fill =
      is_floating(self.dtype()) ? Operand(value.floating(), at) : Operand(value, at);
  return where(mask, fill, Operand(self, at), at);
}

Tensor operator+(const Operand& a, const Operand& b) { return add(a, b, 1, a.at()); }
Tensor operator-(const Operand& a, const Operand& b) { return sub(a, b, 1, a.at()); }
Tensor operator*(const Operand& a, const Operand& b) { return mul(a, b, a.at()); }
Tensor operator/(const Operand& a, const Operand& b) { return div(a, b, "", a.at()); }
Tensor operator-(const Operand& a) { return neg(a.tensor(), a.at()); }
Tensor operator<(const Operand& a, const Operand& b) { return lt(a, b, a.at()); }
Tensor operator<=(const Operand& a, const Operand& b) { return le(a, b, a.at()); }
Tensor operator>(const Operand& a, const Operand& b) { return gt(a, b, a.at()); }
Tensor operator>=(const Operand& a, const Operand& b) { return ge(a, b, a.at()); }
Tensor operator==(const Operand& a, const Operand& b) { return eq(a, b, a.at()); }
Tensor operator!=(const Operand& a, const Operand& b) { return ne(a, b, a.at()); }
Tensor operator&(const Operand& a, const Operand& b) { return bitwise_and(a, b, a.at()); }
Tensor operator|(const Operand& a, const Operand& b) { return bitwise_or(a, b, a.at()); }
Tensor operator~(const Operand& a) { return bitwise_not(a.tensor(), a.at()); }

}  // namespace cleave
