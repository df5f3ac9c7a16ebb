// Adjacent columns or rows in blocks whose elements run in lanes.
//
//   for b in lane_blocks(n) parallel {
//     let first = b * column_lanes
//     for l in size_of_block(first, n) lanes { element first + l }
//   }
#pragma once
#include <functional>

#include "schedule/group_context.h"

namespace cleave {

inline int64_t lane_blocks(int64_t n, int64_t width = loop::column_lanes) {
  return (n + width - 1) / width;
}
// Calls body(index in `outer`, first element) in a parallel loop over `outer` and the blocks of n.
void for_blocks(GroupContext& c, std::vector<int64_t> outer, int64_t n,
                const std::function<void(const loop::Exprs& index, const loop::Expr& first)>& body);
// Calls body(element) in lanes over the elements of a block.
void for_lanes(GroupContext& c, const loop::Expr& first, int64_t n,
               const std::function<void(const loop::Expr& element)>& body);
// Named.
loop::Expr first_of_block(GroupContext& c, const loop::Expr& block, int64_t n,
                          int64_t width = loop::column_lanes);
loop::Expr size_of_block(const loop::Expr& first, int64_t n, int64_t width = loop::column_lanes);

}  // namespace cleave
