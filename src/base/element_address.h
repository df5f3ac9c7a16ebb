// Which addresses the elements of a dtype may have.
#pragma once
#include <cstdint>

#include "cleave/dtype.h"

namespace cleave {

inline int64_t alignment_of(DType dtype) { return dtype == DType::c64 ? 4 : size_of(dtype); }

// What accesses of 16 bytes ask of an operand's address on a device.
constexpr int64_t device_alignment = 16;

inline bool is_aligned(const void* data, DType dtype) {
  return reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(alignment_of(dtype)) == 0;
}

}  // namespace cleave
