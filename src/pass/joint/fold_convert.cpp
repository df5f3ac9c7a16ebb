// Replaces two consecutive conversions by one or none.
//
//   convert(convert(x; d); e)  ->  convert(x; e), or x if that is its dtype
//
//   lossless   d can represent every number of x's dtype, so x is preserved:
//                bf16, f16 -> f32, f64   f32 -> f64   then any floating dtype or bool
//                integers -> wider integers           then any integer dtype or bool
//                bool -> any dtype                    then any dtype
//              Integers wrap the same way from every width that holds them.
//   narrow     other pairs of f64, f32, bf16 and f16, as mixed precision creates them. The rounding
//              to d is dropped, so values change: this rule rounds.
//
// Float to integer is excluded: the conversion of numbers out of range depends on the widths. If x
// is a placeholder or returned and the result is returned too, one conversion remains as a copy.
// The inner conversion must have no other user, otherwise it is computed anyway.
// Source: joint_graph.py pointless_convert, PyTorch 2.13, which doesn't fold pairs whose second
// dtype is wider than the first; here an f32 converted to bf16 and back is x, with less rounding.
#include "pass/passes.h"
#include "pass/stands_for.h"

namespace cleave {
namespace {

// Significand and exponent bits of floating dtypes.
struct Width {
  int significand, exponent;
};
Width width_of(DType t) {
  switch (t) {
    case DType::f64: return {53, 11};
    case DType::f32: return {24, 8};
    case DType::bf16: return {8, 8};
    case DType::f16: return {11, 5};
    default: return {0, 0};
  }
}

bool holds_floating(DType wide, DType t) {
  const Width a = width_of(wide), b = width_of(t);
  return a.significand >= b.significand && a.exponent >= b.exponent;
}

bool holds_integer(DType wide, DType t) {
  if (wide == DType::u8) return t == DType::u8;
  return size_of(wide) > size_of(t) || (wide == t);
}

struct Chain {
  DType x, inner, outer;
};
Chain chain_of(const Match& m) {
  return {m.type("x").dtype, m.type("inner").dtype, m.graph().type(m.outputs()[0]).dtype};
}

bool is_lossless(const Match& m) {
  const auto [x, inner, outer] = chain_of(m);
  if (x == DType::c64 || inner == DType::c64 || outer == DType::c64) return false;
  if (x == DType::boolean) return true;
  if (is_floating(x))
    return is_floating(inner) && holds_floating(inner, x) &&
           (is_floating(outer) || outer == DType::boolean);
  return is_integer(inner) && holds_integer(inner, x) && !is_floating(outer);
}

bool is_all_floating(const Match& m) {
  const auto [x, inner, outer] = chain_of(m);
  return is_floating(x) && is_floating(inner) && is_floating(outer);
}

Values converted(Builder& b, const Match& m) {
  const ValueId y = m.outputs()[0];
  if (may_stand_for(b.graph(), m["x"], y)) return {m["x"]};
  return {b.call1("_to_copy", {m["x"]}, {{"dtype", b.type(y).dtype}})};
}

}  // namespace

Pass fold_convert() {
  const AttrTests attrs = {
      {"dtype", anything()}, {"non_blocking", anything()}, {"memory_format", anything()}};
  const Pattern inner = call("_to_copy", {any("x")}, attrs).named("inner"),
                pair = call("_to_copy", {inner}, attrs);
  return {.name = "fold_convert",
          .summary = "two conversions in a row become one, or none",
          .rules = {{.name = "lossless", .search = {pair}, .when = is_lossless, .build = converted},
                    {.name = "narrow",
                     .search = {pair},
                     .when = is_all_floating,
                     .build = converted,
                     .rounds = true}}};
}

}  // namespace cleave
