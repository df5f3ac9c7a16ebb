// Converts the oracle's arrays to and from a program's memory: elements of the array's dtype,
// row-major or with the strides of a type.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "ir/array.h"
#include "ir/type.h"

namespace cleave {

// Rounds floating elements to the dtype (nearest, ties to even).
std::vector<std::byte> to_memory(const Array& a);
// Writes to memory of numel * size_of(dtype) bytes.
void to_memory(const Array& a, void* out);
// A boolean is true if its byte isn't 0. The memory may have any alignment.
Array from_memory(DType dtype, std::vector<int64_t> shape, const void* data);

// The same with the strides of a static type (ir/strides.h), over the memory_bytes(t) bytes from
// `out` or `data`. Gaps between elements are left unchanged.
void to_memory(const Array& a, const Type& t, void* out);
Array from_memory(const Type& t, const void* data);

// Describes elements that share a location in the type but differ in the array, which memory can't
// hold: "elements [0,1] and [1,1] share their memory in f32[2,3]{0,1}, but are 2 and 5". Empty if
// none.
std::string conflict_in_memory(const Array& a, const Type& t);
// Sets all elements that share a location to the value of the first of them.
void share_memory(Array& a, const Type& t);

}  // namespace cleave
