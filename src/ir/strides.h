// How the elements of a static type lie in memory: by its strides, or row-major where it has none.
//
//   f32[2,3]        012345       f32[2,3]{1,2}   024135      f32[2,3]{4,1}   012.345
//   f32[2,3]{0,1}   012, which both rows are: it overlaps itself
//
// Element (i,j) lies i * stride 0 + j * stride 1 elements from the start. The stride of a dim of
// size 1 means nothing. Sums and products don't overflow: they stop at 2^62.
#pragma once
#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace cleave {

// One for each dim; of dims of size 1, and of types without elements, those of row-major memory.
std::vector<int64_t> strides_of(const Type& t);

// From the first element to after the last, the gaps in between too; 0 without elements.
int64_t extent_of(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides);
int64_t memory_elements(const Type& t);
int64_t memory_bytes(const Type& t);

// Whether the elements lie in row-major order, without gaps.
bool is_row_major(const Type& t);

// Whether two elements lie in one place. Where that takes more than a million steps to find out,
// as of many dims whose strides interleave: true.
bool overlaps_itself(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides);
bool overlaps_itself(const Type& t);

// How entry k of `return` lies: as its value's type says, an update as its target's.
const Type& returned_type(const Graph& g, size_t k);

// What is written must not overlap itself: of two elements in one place one would be lost. Error
// (user) names `name` and the type. Symbolic types pass: they are checked again with their values.
Status check_written(const std::string& name, const Type& t);

}  // namespace cleave
