// Copies between locations of one shape, as kernels.
#pragma once
#include "lower/lowering.h"

namespace cleave {

struct Copy {
  Location from, to;
  std::optional<DType> stored = {};  // of `from`, where not the result's
};

// Of more copies than this each is a kernel. Kernels that differ in numbers alone are one
// (schedule/share_kernels.h), however many there are; the loops of one kernel are functions of
// their own, and 4,000 of them took clang 10 s.
constexpr size_t max_copies_of_a_kernel = 64;

void copy_all(Lowering& lowering, const std::vector<Copy>& copies, DType dtype,
              const std::string& name);
void copy(Lowering& lowering, const Location& from, const Location& to, DType dtype,
          const std::string& name);

// A row-major copy in memory of its own.
Location dense_copy(Lowering& lowering, const Location& from, DType dtype, const std::string& name);

}  // namespace cleave
