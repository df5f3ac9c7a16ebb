// Arrays of the oracle to and from a program's memory: row-major elements of the array's dtype.
#pragma once
#include <cstddef>
#include <vector>

#include "ir/array.h"

namespace cleave {

// Floating elements are rounded to the dtype (nearest, ties to even).
std::vector<std::byte> to_memory(const Array& a);
// Writes to memory of numel * size_of(dtype) bytes.
void to_memory(const Array& a, void* out);
// Booleans are any byte that is not 0. The memory may have any alignment.
Array from_memory(DType dtype, std::vector<int64_t> shape, const void* data);

}  // namespace cleave
