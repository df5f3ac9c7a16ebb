// Which addresses the elements of a dtype may have.
#pragma once
#include <cstdint>

#include "cleave/dtype.h"

namespace cleave {

inline int64_t alignment_of(DType dtype) { return dtype == DType::c64 ? 4 : size_of(dtype); }

inline bool is_aligned(const void* data, DType dtype) {
  return reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(alignment_of(dtype)) == 0;
}

}  // namespace cleave
