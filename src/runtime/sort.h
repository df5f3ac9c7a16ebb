// Sorts lines, or finds the first elements of each.
//
// An element becomes an unsigned number that orders as it does, and above its index in one integer:
//
//   item = key << 32 | index        keys of 64 bits: key << 64 | index
//
// Items are distinct, and in the order of items equal elements keep theirs. Short lines run side
// by side. A long line is cut into chunks of a fixed length, which are sorted side by side by the
// bytes of their keys; then pairs of sorted runs are merged, each piece of a merge finding where it
// begins in both. Of a quarter of a line or less, only these are sorted (sort_first.h). Results
// depend on the elements alone.
//
// Errors: Unsupported for c64, and for lines of 2^32 elements; Bug for sizes that contradict each
// other.
#pragma once
#include "library/library_function.h"
#include "library/sort_spec.h"

namespace cleave::runtime {

Result<LibraryFunctionPtr> make_sort(const SortSpec& spec);

}  // namespace cleave::runtime
