#include "onnx/element.h"

#include <cmath>
#include <limits>

namespace cleave::onnx {

std::optional<DType> carrier(Element e) {
  switch (e) {
    case Element::f32: return DType::f32;
    case Element::u8:
    case Element::u4:
    case Element::u2: return DType::u8;
    case Element::i8:
    case Element::i4:
    case Element::i2: return DType::i8;
    case Element::i16: return DType::i16;
    case Element::u16:
    case Element::i32: return DType::i32;
    case Element::u32:
    case Element::u64:
    case Element::i64: return DType::i64;
    case Element::boolean: return DType::boolean;
    case Element::f16: return DType::f16;
    case Element::bf16: return DType::bf16;
    case Element::f64: return DType::f64;
    case Element::f8e4m3fn:
    case Element::f8e4m3fnuz:
    case Element::f8e5m2:
    case Element::f8e5m2fnuz:
    case Element::f8e8m0:
    case Element::f4e2m1: return DType::f32;
    case Element::undefined:
    case Element::string:
    case Element::c64:
    case Element::c128: return std::nullopt;
  }
  return std::nullopt;
}

Element element_of(DType t) {
  switch (t) {
    case DType::f64: return Element::f64;
    case DType::f32: return Element::f32;
    case DType::bf16: return Element::bf16;
    case DType::f16: return Element::f16;
    case DType::i64: return Element::i64;
    case DType::i32: return Element::i32;
    case DType::i16: return Element::i16;
    case DType::i8: return Element::i8;
    case DType::u8: return Element::u8;
    case DType::boolean: return Element::boolean;
    case DType::c64: return Element::c64;
  }
  return Element::undefined;
}

std::string name_of(Element e) {
  static constexpr const char* names[] = {
      "UNDEFINED",      "FLOAT",    "UINT8",        "INT8",           "UINT16",
      "INT16",          "INT32",    "INT64",        "STRING",         "BOOL",
      "FLOAT16",        "DOUBLE",   "UINT32",       "UINT64",         "COMPLEX64",
      "COMPLEX128",     "BFLOAT16", "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2",
      "FLOAT8E5M2FNUZ", "UINT4",    "INT4",         "FLOAT4E2M1",     "FLOAT8E8M0",
      "UINT2",          "INT2"};
  return names[static_cast<int>(e)];
}

int64_t bits_of(Element e) {
  switch (e) {
    case Element::undefined:
    case Element::string: return 0;
    case Element::u2:
    case Element::i2: return 2;
    case Element::u4:
    case Element::i4:
    case Element::f4e2m1: return 4;
    case Element::u8:
    case Element::i8:
    case Element::boolean:
    case Element::f8e4m3fn:
    case Element::f8e4m3fnuz:
    case Element::f8e5m2:
    case Element::f8e5m2fnuz:
    case Element::f8e8m0: return 8;
    case Element::u16:
    case Element::i16:
    case Element::f16:
    case Element::bf16: return 16;
    case Element::f32:
    case Element::u32:
    case Element::i32: return 32;
    case Element::f64:
    case Element::u64:
    case Element::i64:
    case Element::c64: return 64;
    case Element::c128: return 128;
  }
  return 0;
}

bool is_small_float(Element e) {
  return (e >= Element::f8e4m3fn && e <= Element::f8e5m2fnuz) || e == Element::f4e2m1 ||
         e == Element::f8e8m0;
}

bool is_float(Element e) {
  return e == Element::f32 || e == Element::f64 || e == Element::f16 || e == Element::bf16 ||
         is_small_float(e);
}

bool is_unsigned(Element e) {
  return e == Element::u8 || e == Element::u16 || e == Element::u32 || e == Element::u64 ||
         e == Element::u4 || e == Element::u2;
}

bool is_carried(Element e) {
  const std::optional<DType> t = carrier(e);
  return t && element_of(*t) != e;
}

namespace {

double value_of(unsigned bits, int mantissa_bits, int exponent_bits, int bias) {
  const unsigned mantissa = bits & ((1U << mantissa_bits) - 1);
  const unsigned exponent = bits >> mantissa_bits & ((1U << exponent_bits) - 1);
  const double sign = bits >> (mantissa_bits + exponent_bits) & 1 ? -1 : 1;
  const double fraction = std::ldexp(mantissa, -mantissa_bits);
  return exponent == 0 ? sign * std::ldexp(fraction, 1 - bias)
                       : sign * std::ldexp(1 + fraction, static_cast<int>(exponent) - bias);
}

}  // namespace

double small_float_value(Element e, unsigned bits) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  switch (e) {
    case Element::f8e4m3fn: return (bits & 0x7f) == 0x7f ? nan : value_of(bits, 3, 4, 7);
    case Element::f8e4m3fnuz: return bits == 0x80 ? nan : value_of(bits, 3, 4, 8);
    case Element::f8e5m2fnuz: return bits == 0x80 ? nan : value_of(bits, 2, 5, 16);
    case Element::f8e5m2:
      if ((bits & 0x7f) == 0x7c) return bits & 0x80 ? -infinity : infinity;
      return (bits & 0x7f) > 0x7c ? nan : value_of(bits, 2, 5, 15);
    case Element::f4e2m1: return value_of(bits & 15, 1, 2, 1);
    case Element::f8e8m0: return bits == 0xff ? nan : std::ldexp(1, static_cast<int>(bits) - 127);
    default: return nan;
  }
}

}  // namespace cleave::onnx
