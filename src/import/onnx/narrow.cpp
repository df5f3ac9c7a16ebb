// Arithmetic of integer types that cleave lacks, in the types that carry them (element.h).
//
//   u16 in i32, u32 in i64   results are taken modulo 2^16 and 2^32
//   u64 in i64               the same bits: sums and products are those of i64; a < b is
//                            (a < b) xor (a < 0) xor (b < 0); quotients by halves
#include "import/onnx/rules.h"

namespace cleave::onnx {

V narrowed(Call& c, V x, Element e) {
  if (e == Element::u16) return c.op("bitwise_and", {x, 65535});
  if (e == Element::u32) return c.op("bitwise_and", {x, AttrValue(int64_t{4294967295})});
  return x;
}

V less_than(Call& c, V x, V y, Element e) {
  const V plain = c.op("lt", {x, y});
  if (e != Element::u64) return plain;
  const V signs = c.op("logical_xor", {c.op("lt", {x, 0}), c.op("lt", {y, 0})});
  return c.op("logical_xor", {plain, signs});
}

V larger_of(Call& c, V x, V y, Element e) {
  if (e == Element::u64) return c.where(less_than(c, x, y, e), y, x);
  return c.op(e == Element::boolean ? "logical_or" : "maximum", {x, y});
}

V smaller_of(Call& c, V x, V y, Element e) {
  if (e == Element::u64) return c.where(less_than(c, x, y, e), x, y);
  return c.op(e == Element::boolean ? "logical_and" : "minimum", {x, y});
}

V multiplied(Call& c, V x, V y, Element e) { return narrowed(c, c.mul(x, y), e); }

namespace {

// q = 2 * ((x >> 1) / y), and one more where the rest isn't below y; a y of 2^63 and more goes once
// or never.
V divided_u64(Call& c, V x, V y) {
  const V half = c.op("bitwise_and", {c.op("__rshift__", {x, 1}), AttrValue(INT64_MAX)});
  const V safe = c.where(c.op("gt", {y, 0}), y, AttrValue(int64_t{1}));
  const V q = c.mul(c.op("div", {half, safe}, {{"rounding_mode", "trunc"}}), 2);
  const V rest = c.sub(x, c.mul(q, safe));
  const V more =
      c.convert(c.op("logical_not", {less_than(c, rest, safe, Element::u64)}), DType::i64);
  const V once = c.convert(c.op("logical_not", {less_than(c, x, y, Element::u64)}), DType::i64);
  return c.where(c.op("lt", {y, 0}), once, c.add(q, more));
}

}  // namespace

V divided(Call& c, V x, V y, Element e) {
  if (is_float(e)) return c.div(x, y);
  if (e == Element::u64) return divided_u64(c, x, y);
  return c.op("div", {x, y}, {{"rounding_mode", "trunc"}});
}

}  // namespace cleave::onnx
