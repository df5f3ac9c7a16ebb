// The memory layout of a static type: its strides, or row-major if it has none.
//
//   f32[2,3]        012345       f32[2,3]{1,2}   024135      f32[2,3]{4,1}   012.345
//   f32[2,3]{0,1}   012, shared by both rows: it overlaps itself
//
// Element (i,j) is i * stride 0 + j * stride 1 elements from the start. The stride of a dim of size
// 1 has no meaning. Sums and products don't overflow: they saturate at 2^62.
#pragma once
#include <cstdint>
#include <vector>

#include "base/layout.h"
#include "ir/graph.h"

namespace cleave {

// One stride per dim; row-major ones for dims of size 1 and for types without elements.
std::vector<int64_t> strides_of(const Type& t);

// From the first element to the end of the last (extent_of of base/layout.h).
int64_t memory_elements(const Type& t);
int64_t memory_bytes(const Type& t);

// Whether the elements are contiguous in row-major order.
bool is_row_major(const Type& t);

// Whether two elements share an address. Also true if the search takes more than a million steps,
// as for many dims with interleaved strides.
bool overlaps_itself(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides);
bool overlaps_itself(const Type& t);

// The layout of entry k of `return`: that of its value's type; for an update, of its target's.
const Type& returned_type(const Graph& g, size_t k);

// A written type must not overlap itself: of two elements at one address one would be lost. The
// error (user) names `name` and the type. Symbolic types pass: they are checked again once
// specialised.
Status check_written(const std::string& name, const Type& t);

}  // namespace cleave
