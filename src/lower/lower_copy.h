// Copies between MemRefs of the same shape, as kernels.
#pragma once
#include "lower/lowering.h"

namespace cleave {

struct Copy {
  MemRef from, to;
  std::optional<DType> stored = {};  // dtype of `from`, if it isn't that of `to`
};

// More copies than this become a kernel each. Kernels that differ only in numbers are emitted once
// (schedule/share_kernels.h), but each loop of a kernel is a function, and 4,000 of those took
// clang 10 s.
constexpr size_t max_copies_of_a_kernel = 64;

void copy_all(Lowering& lowering, const std::vector<Copy>& copies, DType dtype,
              const std::string& name);
void copy(Lowering& lowering, const MemRef& from, const MemRef& to, DType dtype,
          const std::string& name);

// A row-major copy in a new storage.
MemRef dense_copy(Lowering& lowering, const MemRef& from, DType dtype, const std::string& name);

}  // namespace cleave
