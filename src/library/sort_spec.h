// What a call that sorts lines computes.
//
//   self [outer, length, inner]    values, indices [outer, count, inner]    row-major without gaps
//
// The first `count` of each line along `length`, in order: ascending, or descending. Equal elements
// keep their order, 0 and -0 are equal, and NaN is greater than any number.
#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>

#include "cleave/dtype.h"

namespace cleave {

// What a call touches, in the order of its pointers (LibraryCall). `indices` are i64: where along
// `length` each value was.
struct SortOperand {
  enum : size_t { self, values, indices };
};

struct SortSpec {
  DType dtype = DType::f32;
  int64_t outer = 1, length = 0, inner = 1, count = 0;
  bool is_descending = false;

  static constexpr const char* kind = "sort";
  int64_t flops() const { return 0; }  // it compares
  auto operator<=>(const SortSpec&) const = default;
};

}  // namespace cleave
