#include "schedule/lane_block.h"

#include <algorithm>

namespace cleave {

using namespace cleave::loop;

Expr first_of_block(GroupContext& c, const Expr& block, int64_t n) {
  // Only first + lane is read, and is below n.
  return c.let(block * Expr(column_lanes), "first", std::max<int64_t>(n - column_lanes, 0) + 1);
}

Expr size_of_block(const Expr& first, int64_t n) {
  return binary(Op::min, Expr(n) - first, Expr(column_lanes));
}

}  // namespace cleave
