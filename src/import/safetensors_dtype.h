// Element types under the names that safetensors files use.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "cleave/dtype.h"

namespace cleave {

// In the order of DType.
constexpr std::array<std::string_view, dtype_count> safetensors_dtype_names = {
    "F64", "F32", "BF16", "F16", "I64", "I32", "I16", "I8", "U8", "BOOL", "C64"};

// Names of the format that have no element type in cleave.
constexpr std::array<std::string_view, 10> safetensors_foreign_dtypes = {
    "U16", "U32", "U64", "F8_E4M3", "F8_E5M2", "F8_E8M0", "F6_E2M3", "F6_E3M2", "F4", "C128"};

constexpr std::string_view safetensors_name_of(DType t) {
  return safetensors_dtype_names[static_cast<size_t>(t)];
}

// Bytes of a tensor, or nothing if a dim is negative or the product of its dims (zeros apart) and
// the element's size exceeds 63 bits.
constexpr std::optional<int64_t> safetensors_bytes(std::span<const int64_t> shape, DType dtype) {
  int64_t product = size_of(dtype);
  bool empty = false;
  for (const int64_t dim : shape) {
    if (dim < 0) return std::nullopt;
    if (dim == 0) empty = true;
    if (dim != 0 && __builtin_mul_overflow(product, dim, &product)) return std::nullopt;
  }
  return empty ? 0 : product;
}

}  // namespace cleave
