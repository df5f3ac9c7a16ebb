// What a matrix product computes: sizes, strides, factors.
//
//   C = alpha * A B + beta * C_in
#pragma once
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "cleave/dtype.h"

namespace cleave {

// What a call touches, in the order of its pointers (LibraryCall).
struct GemmOperand {
  enum : size_t { a, b, c_in, scale, other_scale, c };
};

// A [batch, m, k], B [batch, k, n], C [batch, m, n] row-major without gaps, C_in [batch, m, n].
// Strides are in elements and may be 0 or in any order: a transposed operand is one whose row and
// col are exchanged, a row vector C_in has c_in_row = 0. C overlaps nothing.
struct GemmSpec {
  DType dtype = DType::f32;
  int64_t batch = 1, m = 0, n = 0, k = 0;
  int64_t a_batch = 0, a_row = 0, a_col = 1;
  int64_t b_batch = 0, b_row = 0, b_col = 1;
  bool has_c_in = false;
  int64_t c_in_batch = 0, c_in_row = 0, c_in_col = 1;
  double alpha = 1, beta = 1;
  // The operand's type in memory, where it is another: gemm_reads_as.
  std::optional<DType> a_stored, b_stored;
  // Of f32 whose operands are i8: sums in i32, converted, then multiplied by alpha and by the
  // scales of f32 that there are, rounded each time, before C_in is added; beta is 1 then.
  struct Scale {
    bool is_given = false;
    int64_t row = 0, col = 0;
    auto operator<=>(const Scale&) const = default;
  };
  bool scales_sums = false;
  std::array<Scale, 2> scales = {};
  // B is u8 [k / 2, n]: steps 2i and 2i + 1 of k are the low and high four bits of its row i, each
  // less 8. Of f32 and the halves, without a batch.
  bool b_is_nibbles = false;

  static constexpr const char* kind = "product";
  // A multiplication and an addition are two.
  int64_t flops() const { return 2 * batch * m * n * k; }
  auto operator<=>(const GemmSpec&) const = default;
};

// Whether a product in `dtype` reads an operand that is `stored` in memory, to the same numbers as
// a cast gives.
//
//   f32 and the halves   i8, u8
//   f32                  bf16, f16
//   bf16, f16            f32, rounded
//   i32                  i8, u8
inline bool gemm_reads_as(DType stored, DType dtype) {
  const auto is_half = [](DType t) { return t == DType::bf16 || t == DType::f16; };
  if (stored == dtype) return true;
  if (stored == DType::i8 || stored == DType::u8)
    return dtype == DType::f32 || dtype == DType::i32 || is_half(dtype);
  return (stored == DType::f32 && is_half(dtype)) || (is_half(stored) && dtype == DType::f32);
}

}  // namespace cleave
