// For which sizes, beside the largest, a family of programs learns kernels (compile/code_pool.h).
//
//   B in 1..64, T in 1..256    first   63,256  33,256  32,256  2,256  1,256  64,255 ... 2,2  63,255
//                              more    from 2 to the largest, small ones more often
//
// What a kernel looks like depends on whether sizes divide each other and the vectors, whether rows
// fit in the caches, and on sizes of 1: so sizes lie close to the largest, in the middle and at the
// lower end, alone and together.
#pragma once
#include "exec/input_sizes.h"

namespace cleave {

struct SampleSizes {
  std::vector<std::vector<int64_t>> first, more;  // distinct ones, none the largest
};

// Always the same for the same bounds. None for sizes without bounds.
SampleSizes sample_sizes(const InputSizes& sizes);

// Each size one more than these, and one less, where it may be that.
std::vector<std::vector<int64_t>> sizes_beside(const InputSizes& sizes,
                                               const std::vector<int64_t>& these);

}  // namespace cleave
