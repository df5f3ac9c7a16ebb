// Arrays of the oracle to and from a program's memory: elements of the array's dtype, row-major or
// by the strides of a type.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "ir/array.h"
#include "ir/type.h"

namespace cleave {

// Floating elements are rounded to the dtype (nearest, ties to even).
std::vector<std::byte> to_memory(const Array& a);
// Writes to memory of numel * size_of(dtype) bytes.
void to_memory(const Array& a, void* out);
// Booleans are any byte that is not 0. The memory may have any alignment.
Array from_memory(DType dtype, std::vector<int64_t> shape, const void* data);

// The same by the strides of a static type (ir/strides.h), over memory_bytes(t) from `out` or
// `data` on. What lies between the elements stays.
void to_memory(const Array& a, const Type& t, void* out);
Array from_memory(const Type& t, const void* data);

// Elements that share a place of the type, and differ in the array, which memory can't hold:
// "elements [0,1] and [1,1] share their memory in f32[2,3]{0,1}, but are 2 and 5"; empty: none.
std::string conflict_in_memory(const Array& a, const Type& t);
// Gives all elements that share a place the value of the first of them.
void share_memory(Array& a, const Type& t);

}  // namespace cleave
