#include "schedule/lane_block.h"

#include <algorithm>

namespace cleave {

using namespace cleave::loop;

void for_blocks(GroupContext& c, std::vector<int64_t> outer, int64_t n,
                const std::function<void(const Exprs& index, const Expr& block)>& body) {
  outer.push_back(lane_blocks(n));
  c.builder.parallel(outer, [&](const Exprs& i) {
    const OpenScope scope(c, i);
    Exprs index(i.size());
    for (size_t d = 0; d < i.size(); ++d) index[d] = c.declared(i[d], outer[d]);
    body(Exprs(i.begin(), i.end() - 1), index.back());
  });
}

void for_lanes(GroupContext& c, const Expr& block, int64_t n,
               const std::function<void(const Expr& element)>& body, int64_t width) {
  const Expr first = block * Expr(width);
  const Expr size = n % width == 0 ? Expr(width) : binary(Op::min, Expr(n) - first, Expr(width));
  c.builder.lanes(size, [&](const Expr& l) {
    const OpenScope lane(c, {l});
    c.declared(l, std::min(width, n));
    c.math().declare_sum(block, width, l, n);
    body(first + l);
  });
}

}  // namespace cleave
