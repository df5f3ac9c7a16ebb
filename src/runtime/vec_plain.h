// Vectors of 16 bytes, for any processor: products and sums are rounded separately. Included inside
// a namespace for which the instruction set has been chosen (gemm_block_code.h).
inline constexpr int64_t vector_bytes = 16;

#include "runtime/vec_code.h"

inline constexpr bool has_code = true;

template <class T>
inline constexpr int mr_of = 4;
