// Decides where the dims of ATen's advanced indexing appear in the result.
//
//   self [a,b,c,d], indices [none, i, j, none], i and j broadcast to [*n]   ->  [a,*n,d]
//   self [a,b,c,d], indices [i, none, j]                                    ->  [*n,b,d]
//
// If the indexed dims are adjacent, the broadcast dims of the indices replace them. Otherwise the
// broadcast dims come first in the result.
#pragma once
#include <vector>

#include "ir/op_view.h"

namespace cleave {

struct AdvancedIndex {
  std::vector<int> tensor_of;      // for each dim of self: the list item that indexes it, or -1
  std::vector<int64_t> result_of;  // for each dim of self: its dim in the result, or -1 if indexed
  int64_t first = 0;               // the result's dim where the broadcast dims begin
  int64_t broadcast_rank = 0;

  // Returns the part of a result index (or shape) that selects an element of the index tensors.
  template <class T>
  std::vector<T> broadcast_part(const std::vector<T>& result) const {
    return {result.begin() + first, result.begin() + first + broadcast_rank};
  }
};

// Plans a call whose list operand holds indices; `broadcast_rank` is their joint broadcast rank.
AdvancedIndex plan_index(const OpView& op, int64_t self_rank, int64_t broadcast_rank);

// Returns the type of self[indices] for operands (self, list):
//   C1 at least one index is given, and no more than self has dims
//   C2 indices are i64 or i32; a mask (bool or u8) is Unsupported: its result has no static size
//   C3 indices broadcast together
//   C4 operands are on one device, or indices on the CPU
Result<Type> indexed_type(const OpView& op);

}  // namespace cleave
