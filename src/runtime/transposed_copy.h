// Copies a matrix of f32, transposed; with what a convolution does to its result as it writes it.
#pragma once
#include <cstdint>

#include "cleave/target.h"

namespace cleave::runtime {

// to[c * to_row + r] = from[r * from_row + c], r in [0, rows), c in [0, columns); plus
// added[c * to_row + r] if it is given; then negative numbers become 0, if relu.
struct TransposedCopy {
  const float* from = nullptr;
  int64_t from_row = 0;
  float* to = nullptr;
  int64_t to_row = 0;
  int64_t rows = 0, columns = 0;
  const float* added = nullptr;
  bool relu = false;
};

using CopyTransposed = void (*)(const TransposedCopy& copy);

// The fastest for processors with this set.
CopyTransposed copy_transposed(InstructionSet set);

// Null if it wasn't compiled in. Data, not functions: see gemm_block.h.
extern const CopyTransposed copy_transposed_avx512, copy_transposed_avx2;

}  // namespace cleave::runtime
