// Adjacent columns or rows in blocks whose elements run in lanes.
//
//   for b in lane_blocks(n) parallel {
//     for l in min(n - b*64, 64) lanes { element b*64 + l }
//   }
#pragma once
#include <functional>

#include "schedule/group_context.h"

namespace cleave {

inline int64_t lane_blocks(int64_t n, int64_t width = loop::column_lanes) {
  return (n + width - 1) / width;
}
// Calls body(index in `outer`, block) in a parallel loop over `outer` and the blocks of n.
void for_blocks(GroupContext& c, std::vector<int64_t> outer, int64_t n,
                const std::function<void(const loop::Exprs& index, const loop::Expr& block)>& body);
// Calls body(element) in lanes over the elements of a block.
void for_lanes(GroupContext& c, const loop::Expr& block, int64_t n,
               const std::function<void(const loop::Expr& element)>& body,
               int64_t width = loop::column_lanes);

}  // namespace cleave
