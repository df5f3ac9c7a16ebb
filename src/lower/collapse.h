// Merges adjacent loop dims that are contiguous in every operand into one.
//
//   shape [2,16,64], strides {1024,64,1} and {0,64,1}   ->   [2,1024] with {1024,1} and {0,1}
#pragma once
#include <cstdint>
#include <vector>

namespace cleave {

struct StridedDims {
  std::vector<int64_t> shape;
  std::vector<std::vector<int64_t>> strides;  // one list for each operand
};

// Drops dims of size 1; merges dims d and d+1 if stride[d] = stride[d+1] * shape[d+1] in every
// list.
void collapse(StridedDims& dims);

}  // namespace cleave
