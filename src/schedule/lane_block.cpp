#include "schedule/lane_block.h"

#include <algorithm>

namespace cleave {

using namespace cleave::loop;

Expr first_of_block(GroupContext& c, const Expr& block, int64_t n, int64_t width) {
  // Only first + lane is read, and is below n.
  return c.let(block * Expr(width), "first", std::max<int64_t>(n - width, 0) + 1);
}

Expr size_of_block(const Expr& first, int64_t n, int64_t width) {
  return binary(Op::min, Expr(n) - first, Expr(width));
}

void for_blocks(GroupContext& c, std::vector<int64_t> outer, int64_t n,
                const std::function<void(const Exprs& index, const Expr& first)>& body) {
  outer.push_back(lane_blocks(n));
  c.builder.parallel(outer, [&](const Exprs& i) {
    const OpenScope scope(c, i);
    for (size_t d = 0; d < i.size(); ++d) c.declared(i[d], outer[d]);
    const Expr first = first_of_block(c, i.back(), n);
    body(Exprs(i.begin(), i.end() - 1), first);
  });
}

void for_lanes(GroupContext& c, const Expr& first, int64_t n,
               const std::function<void(const Expr& element)>& body) {
  c.builder.lanes(size_of_block(first, n), [&](const Expr& l) {
    const OpenScope lane(c, {l});
    c.declared(l, std::min<int64_t>(column_lanes, n));
    body(first + l);
  });
}

}  // namespace cleave
