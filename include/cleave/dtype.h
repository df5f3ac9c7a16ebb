// Element types of tensors, with the names that the graph text uses.
#pragma once
#include <cstdint>
#include <string_view>

namespace cleave {

enum class DType : uint8_t { f64, f32, bf16, f16, i64, i32, i16, i8, u8, boolean, c64 };

constexpr int dtype_count = 11;

// Bytes of one element.
constexpr int64_t size_of(DType t) {
  switch (t) {
    case DType::f64:
    case DType::i64:
    case DType::c64: return 8;
    case DType::f32:
    case DType::i32: return 4;
    case DType::bf16:
    case DType::f16:
    case DType::i16: return 2;
    case DType::i8:
    case DType::u8:
    case DType::boolean: return 1;
  }
  return 0;
}

// "f32", "bool", ...
constexpr std::string_view name_of(DType t) {
  constexpr std::string_view names[] = {"f64", "f32", "bf16", "f16",  "i64", "i32",
                                        "i16", "i8",  "u8",   "bool", "c64"};
  return names[static_cast<int>(t)];
}

constexpr bool is_floating(DType t) {
  return t == DType::f64 || t == DType::f32 || t == DType::bf16 || t == DType::f16;
}
constexpr bool is_integer(DType t) {
  return t == DType::i64 || t == DType::i32 || t == DType::i16 || t == DType::i8 || t == DType::u8;
}

}  // namespace cleave
