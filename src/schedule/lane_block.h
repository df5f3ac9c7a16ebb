// Adjacent columns or rows in blocks whose elements run in lanes.
//
//   for b in lane_blocks(n) parallel {
//     let first = b * column_lanes
//     for l in size_of_block(first, n) lanes { element first + l }
//   }
#pragma once
#include "schedule/group_context.h"

namespace cleave {

inline int64_t lane_blocks(int64_t n) { return (n + loop::column_lanes - 1) / loop::column_lanes; }
// Named.
loop::Expr first_of_block(GroupContext& c, const loop::Expr& block, int64_t n);
loop::Expr size_of_block(const loop::Expr& first, int64_t n);

}  // namespace cleave
