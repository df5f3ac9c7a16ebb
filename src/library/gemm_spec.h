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

// The operands in the order of the call's pointers (LibraryCall).
struct GemmOperand {
  enum : size_t { a, b, c_in, scale, other_scale, c };
};

// Columns of a packed B: those of the widest kernel, and a multiple of the others'.
constexpr int64_t gemm_panel = 32;

// A [batch, m, k], B [batch, k, n], C_in [batch, m, n], C [batch, m, n]. Strides are in elements,
// may be 0 and in any order: a transposed operand has row and col exchanged, a row vector C_in has
// c_in_row = 0. The columns of C lie side by side. C overlaps no operand.
struct GemmSpec {
  DType dtype = DType::f32;
  int64_t batch = 1, m = 0, n = 0, k = 0;
  int64_t a_batch = 0, a_row = 0, a_col = 1;
  int64_t b_batch = 0, b_row = 0, b_col = 1;
  bool has_c_in = false;
  int64_t c_in_batch = 0, c_in_row = 0, c_in_col = 1;
  double alpha = 1, beta = 1;
  // The dtype of the operand in memory if it isn't `dtype`; see gemm_reads_as.
  std::optional<DType> a_stored, b_stored;
  // With dtype f32 and operands of i8: the sums are i32, are converted to f32, then multiplied by
  // alpha and by each f32 scale that is given, rounding each time; then C_in is added. beta must be
  // 1.
  struct Scale {
    bool is_given = false;
    int64_t row = 0, col = 0;
    auto operator<=>(const Scale&) const = default;
  };
  bool scales_sums = false;
  std::array<Scale, 2> scales = {};
  // B is packed four-bit numbers, u8 [k / 2, n]: row i has row 2i of B in its low and row 2i + 1 in
  // its high four bits, each plus 8. dtype is f32, bf16 or f16; no batch.
  bool b_is_nibbles = false;
  // B, in f32 without a batch, is in panels: [n / gemm_panel rounded up, k, gemm_panel], numbers
  // after the last column don't matter, nor do its strides.
  bool b_packed = false;
  // C as part of a larger matrix: c_row is at least n, or 0: C is row-major and dense.
  int64_t c_batch = 0, c_row = 0;

  static constexpr const char* kind = "product";
  // A multiply-add counts as two.
  int64_t flops() const { return 2 * batch * m * n * k; }
  auto operator<=>(const GemmSpec&) const = default;
};

// Whether a product in `dtype` reads an operand stored as `stored`, to the numbers that a cast
// gives.
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
