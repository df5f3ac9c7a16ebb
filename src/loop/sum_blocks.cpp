#include "loop/sum_blocks.h"

#include <algorithm>
#include <limits>

namespace cleave::loop {
namespace {

constexpr int64_t any_number = std::numeric_limits<int64_t>::max();

// What an extent is at the most.
int64_t most(const Expr& e) {
  if (const int64_t* n = e.as_const_int()) return *n;
  if (e->op == Op::min) return std::min(most(e->args[0]), most(e->args[1]));
  if (e->op == Op::max) return std::max(most(e->args[0]), most(e->args[1]));
  return any_number;
}

}  // namespace

bool rounds(ReduceOp op, DType type) {
  return (op == ReduceOp::sum || op == ReduceOp::prod) && is_floating(type);
}

bool is_short(const Reduce& r) {
  const int64_t* inner = r.loops.back().extent.as_const_int();
  return inner && *inner < reduce_lanes;
}

std::optional<SumBlocks> sum_blocks(const Reduce& r, bool in_order) {
  if (std::ranges::none_of(r.folds, [](const Fold& f) { return rounds(f.op, f.var.type()); }))
    return std::nullopt;
  const int64_t room = in_order ? ordered_terms : lane_terms;
  int64_t inside = 1;  // steps of the loops inside
  for (size_t d = r.loops.size(); d-- > 0;) {
    const int64_t lanes = d + 1 == r.loops.size() && !in_order ? reduce_lanes : 1;
    const int64_t extent = std::max<int64_t>(most(r.loops[d].extent), 1);
    const int64_t steps = (extent - 1) / lanes + 1;
    if (steps > room / inside) return SumBlocks{d, room / inside * lanes};
    inside *= steps;
  }
  return std::nullopt;
}

}  // namespace cleave::loop
