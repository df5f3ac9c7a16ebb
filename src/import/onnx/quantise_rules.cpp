// Numbers in 8 bits and less: q = round(x / scale) + zero, and products of them.
//
// Scale and zero point are one number, one along an axis, or one for each block of an axis.
// Products of matrices whose zero points are 0 and whose operands are i8 are `_int_mm`; all others
// are summed in floats that hold each sum exactly (f32 up to 2^24, else f64).
#include <algorithm>

#include "import/onnx/rules.h"

namespace cleave::onnx {

Result<V> convolved(Call& c, V x, V w, V bias);

namespace {

// A scale or zero point as it broadcasts to x.
Result<V> spread(Call& c, V v, const Shape& x) {
  const Shape s = c.shape(v);
  if (s.empty() || s == Shape{Dim(1)}) return c.view(v, {});
  const int64_t rank = static_cast<int64_t>(x.size());
  CLEAVE_TRY(const int64_t axis, c.axis(c.integer("axis", 1), rank));
  const size_t at = static_cast<size_t>(axis);
  const int64_t block = c.integer("block_size");
  if (s.size() == 1 && block == 0) {
    Shape line(x.size(), Dim(1));
    line[at] = s[0];
    return c.view(v, line);
  }
  if (block < 1 || s.size() != x.size())
    return user_error("a scale of {} dims for {} dims", s.size(), rank);
  // Each block's number as many times, then what is too much cut off.
  Shape repeated = s, all = s;
  repeated.insert(repeated.begin() + axis + 1, Dim(block));
  all[at] = s[at] * Dim(block);
  V wide = c.op("reshape", {c.expand(c.unsqueeze(v, axis + 1), repeated)}, {{"shape", all}});
  if (!(all[at] == x[at])) wide = c.slice(wide, axis, 0, x[at]);
  return wide;
}

Result<Element> element_given(const Call& c, const char* name, Element otherwise) {
  const int64_t e = c.integer(name);
  if (e == 0) return otherwise;
  if (e < 0 || e > last_element) return user_error("{} is {}", name, e);
  return static_cast<Element>(e);
}

// Rounded, moved by the zero point (of any type) and clamped.
Result<V> quantised(Call& c, V scaled, V zero, Element to, bool saturate) {
  if (is_small_float(to)) {
    if (to == Element::f4e2m1 && zero.valid())
      scaled = c.add(scaled, c.convert(zero, c.type(scaled).dtype));
    return c.cast(scaled, element_of(c.type(scaled).dtype), to, saturate);
  }
  if (!range_of(to)) return unsupported("numbers of {}", name_of(to));
  // f16 and bf16 hold no sums of 8 bits with a zero point of 16.
  const DType t = c.type(scaled).dtype == DType::f64 ? DType::f64 : DType::f32;
  V q = c.op("round", {c.convert(scaled, t)});
  if (zero.valid()) q = c.add(q, c.convert(zero, t));
  return clamped(c, q, to);
}

Status quantize_linear(Call& c) {
  CLEAVE_TRY(Element to, element_given(c, "output_dtype", Element::u8));
  if (c.has(2)) to = c.element(2);
  const Shape s = c.shape(0);
  CLEAVE_TRY(const V scale, spread(c, c.in(1), s));
  V zero = V::none();
  if (c.has(2)) { CLEAVE_TRY(zero, spread(c, c.in(2), s)); }
  CLEAVE_TRY(const Element precision, element_given(c, "precision", c.element(1)));
  const auto in = carrier(precision);
  if (!in || !is_floating(*in)) return user_error("a precision of {}", name_of(precision));
  const V scaled = c.div(c.convert(c.in(0), *in), c.convert(scale, *in));
  CLEAVE_TRY(const V q, quantised(c, scaled, zero, to, c.integer("saturate", 1) != 0));
  c.give(0, q, to);
  return {};
}

Status dequantize_linear(Call& c) {
  CLEAVE_TRY(const Element to, element_given(c, "output_dtype", c.element(1)));
  const Shape s = c.shape(0);
  CLEAVE_TRY(const V scale, spread(c, c.in(1), s));
  V x = c.in(0);
  const bool floats = is_float(c.element(0));
  x = floats ? c.convert(x, DType::f32) : c.convert(x, DType::i32);
  if (c.has(2)) {
    CLEAVE_TRY(const V zero, spread(c, c.in(2), s));
    x = c.sub(x, floats ? c.convert(zero, DType::f32) : c.convert(zero, DType::i32));
  }
  const auto t = carrier(to);
  if (!t || !is_floating(*t)) return user_error("a result of {}", name_of(to));
  c.give(0, c.mul(c.convert(x, *t), c.convert(scale, *t)), to);
  return {};
}

// The range of x, widened to hold 0, in 255 steps.
Status dynamic_quantize_linear(Call& c) {
  const V x = c.in(0);
  const Ints all = all_axes(c.rank(0));
  const V high = c.op("clamp", {c.amax(x, all), 0.0});
  const V low = c.op("clamp", {c.op("amin", {x}, {{"dim", all}}), V{}, 0.0});
  const V scale = c.div(c.sub(high, low), 255.0);
  const V zero = c.op("round", {c.op("clamp", {c.op("neg", {c.div(low, scale)}), 0.0, 255.0})});
  const V q = c.add(c.op("round", {c.div(x, scale)}), zero);
  c.give(0, c.convert(c.op("clamp", {q, 0.0, 255.0}), DType::u8));
  c.give(1, scale);
  c.give(2, c.convert(zero, DType::u8));
  return {};
}

bool is_zero(Call& c, size_t i) {
  if (!c.has(i)) return true;
  const auto a = c.known(i);
  return a && std::ranges::all_of(a->i, [](int64_t v) { return v == 0; });
}

// Operand i less its zero point, as a float that holds sums of k products. Zero points of more
// than one number stand along `axis`, counted from the end.
V centered(Call& c, size_t i, size_t zero, DType t, int64_t axis) {
  V x = c.convert(c.in(i), t);
  if (is_zero(c, zero)) return x;
  V z = c.convert(c.in(zero), t);
  if (c.rank(z) == 1 && !(c.shape(z)[0] == Dim(1))) {
    Shape line(static_cast<size_t>(axis), Dim(1));
    line[0] = c.shape(z)[0];
    z = c.view(z, line);
  } else if (c.rank(z) == 1) {
    z = c.view(z, {});
  }
  return c.sub(x, z);
}

DType sum_type(const Dim& terms) {
  return terms.is_const() && terms.value() <= 250 ? DType::f32 : DType::f64;
}

// The sums of (a - za)(b - zb), in i32.
V integer_product(Call& c, size_t a, size_t b, size_t za, size_t zb) {
  const Shape s = c.shape(a);
  if (c.dtype(a) == DType::i8 && c.dtype(b) == DType::i8 && s.size() == 2 && c.rank(b) == 2 &&
      is_zero(c, za) && is_zero(c, zb))
    return c.op("_int_mm", {c.in(a), c.in(b)});
  const DType t = s.empty() ? DType::f64 : sum_type(s.back());
  return c.convert(c.matmul(centered(c, a, za, t, 2), centered(c, b, zb, t, 1)), DType::i32);
}

Status mat_mul_integer(Call& c) {
  c.give(0, integer_product(c, 0, 1, 2, 3));
  return {};
}

Status conv_integer(Call& c) {
  const Shape w = c.shape(1);
  if (w.size() < 3) return unsupported("a kernel of {} dims", w.size());
  const DType t = sum_type(product_of(w, 1, w.size()));
  const V x = centered(c, 0, 2, t, 1);
  CLEAVE_TRY(const V y,
             convolved(c, x, centered(c, 1, 3, t, static_cast<int64_t>(w.size())), V::none()));
  c.give(0, c.convert(y, DType::i32));
  return {};
}

// a, its scale and zero, b, its scale and zero, the result's scale and zero.
Status qlinear_mat_mul(Call& c) {
  if (c.count() < 8) return user_error("has {} operands, expected 8", c.count());
  const V sums = c.convert(integer_product(c, 0, 3, 2, 5), DType::f32);
  const auto number = [&](size_t i) { return c.convert(c.in(i), DType::f32); };
  const V a_scale =
      c.rank(1) == 1 && !(c.shape(1)[0] == Dim(1)) ? c.unsqueeze(number(1), 1) : number(1);
  const V factor = c.div(c.mul(a_scale, number(4)), number(6));
  CLEAVE_TRY(const V q, quantised(c, c.mul(sums, factor), c.in(7), c.element(7), true));
  c.give(0, q, c.element(7));
  return {};
}

// x, scale, zero, w, scale, zero, the result's scale and zero, bias in i32.
Status qlinear_conv(Call& c) {
  if (c.count() < 8) return user_error("has {} operands, expected 8 or 9", c.count());
  const Shape w = c.shape(3);
  if (w.size() < 3) return unsupported("a kernel of {} dims", w.size());
  const DType t = sum_type(product_of(w, 1, w.size()));
  const V bias = c.has(8) ? c.convert(c.in(8), t) : V::none();
  CLEAVE_TRY(const V sums, convolved(c, centered(c, 0, 2, t, 1),
                                     centered(c, 3, 5, t, static_cast<int64_t>(w.size())), bias));
  const auto channels = [&](size_t i) {  // one number, or one a channel
    V v = c.convert(c.in(i), DType::f32);
    if (c.rank(v) == 1 && c.shape(v)[0] == Dim(1)) return c.view(v, {});
    if (c.rank(v) != 1) return v;
    Shape line(w.size() - 1, Dim(1));
    line[0] = c.shape(v)[0];
    return c.view(v, line);
  };
  const V factor = c.div(c.mul(channels(1), channels(4)), channels(6));
  const V zero = c.rank(7) == 1 ? c.view(c.in(7), {}) : c.in(7);
  CLEAVE_TRY(const V q,
             quantised(c, c.mul(c.convert(sums, DType::f32), factor), zero, c.element(7), true));
  c.give(0, q, c.element(7));
  return {};
}

constexpr RuleEntry entries[] = {{"QuantizeLinear", quantize_linear},
                                 {"DequantizeLinear", dequantize_linear},
                                 {"DynamicQuantizeLinear", dynamic_quantize_linear},
                                 {"MatMulInteger", mat_mul_integer},
                                 {"ConvInteger", conv_integer},
                                 {"QLinearMatMul", qlinear_mat_mul},
                                 {"QLinearConv", qlinear_conv}};

}  // namespace

std::span<const RuleEntry> quantise_rules() { return entries; }

}  // namespace cleave::onnx
