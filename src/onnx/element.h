// ONNX's element types, and the dtypes of cleave that carry them.
//
// Types that cleave lacks are carried by a wider one that holds each of their values; whatever
// computes in such a type brings its result back into range (import/onnx/narrow.h).
//
//   u16 -> i32    u32 -> i64    u64 -> i64, the same bits
//   u4, u2 -> u8    i4, i2 -> i8
//   f8e4m3fn, f8e4m3fnuz, f8e5m2, f8e5m2fnuz, f8e8m0, f4e2m1 -> f32
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "cleave/dtype.h"

namespace cleave::onnx {

// TensorProto.DataType.
enum class Element : uint8_t {
  undefined = 0,
  f32 = 1,
  u8 = 2,
  i8 = 3,
  u16 = 4,
  i16 = 5,
  i32 = 6,
  i64 = 7,
  string = 8,
  boolean = 9,
  f16 = 10,
  f64 = 11,
  u32 = 12,
  u64 = 13,
  c64 = 14,
  c128 = 15,
  bf16 = 16,
  f8e4m3fn = 17,
  f8e4m3fnuz = 18,
  f8e5m2 = 19,
  f8e5m2fnuz = 20,
  u4 = 21,
  i4 = 22,
  f4e2m1 = 23,
  f8e8m0 = 24,
  u2 = 25,
  i2 = 26
};
constexpr int64_t last_element = 26;

// None: texts, complex numbers and undefined have no carrier.
std::optional<DType> carrier(Element e);
// That of a dtype, where nothing else is known.
Element element_of(DType t);
// As ONNX writes it: FLOAT, FLOAT8E4M3FN, ...
std::string name_of(Element e);
// Bits of one element in a file; 0 for texts.
int64_t bits_of(Element e);

// The carrier holds more values than the type has.
bool is_carried(Element e);
bool is_float(Element e);        // small floats included
bool is_small_float(Element e);  // of 8 and 4 bits
bool is_unsigned(Element e);

// The value of a small float's bits.
double small_float_value(Element e, unsigned bits);

}  // namespace cleave::onnx
