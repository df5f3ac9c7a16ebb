// What a call of matrix products with a group each computes: groups are runs of rows, columns, or
// terms of the sums, whose ends are an operand.
//
//   rows     a [m, k]          b [groups, k, n]  c [m, n]          c[rows of g] = a[rows of g] b[g]
//   columns  a [groups, m, k]  b [k, n]          c [m, n]          likewise
//   inner    a [m, k]          b [k, n]          c [groups, m, n]  c[g] = a[:, of g] b[of g, :]
//
// Group g begins where group g - 1 ended and ends at ends[g], or earlier where the matrix does; it
// is empty if it would end before it begins. Rows and columns of no group are 0.
#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>

#include "cleave/dtype.h"

namespace cleave {

// What a call touches, in the order of its pointers (LibraryCall). `ends` are i32 or i64.
struct GroupedProductOperand {
  enum : size_t { a, b, ends, c };
};

enum class GroupedDim { rows, columns, inner };

// Strides are in elements, as in GemmSpec; c is row-major without gaps.
struct GroupedProductSpec {
  GroupedDim along = GroupedDim::rows;
  DType dtype = DType::f32, ends_dtype = DType::i32;
  int64_t groups = 0, m = 0, n = 0, k = 0;
  int64_t a_group = 0, a_row = 0, a_col = 1;
  int64_t b_group = 0, b_row = 0, b_col = 1;
  int64_t ends_stride = 1;

  static constexpr const char* kind = "grouped product";
  // A multiply-add counts as two. All rows, columns or terms belong to groups.
  int64_t flops() const { return 2 * m * n * k; }
  auto operator<=>(const GroupedProductSpec&) const = default;
};

}  // namespace cleave
