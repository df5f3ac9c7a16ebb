#include "loop/sum_blocks.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace cleave::loop {
namespace {

constexpr int64_t any_number = std::numeric_limits<int64_t>::max();

// The largest value of an extent.
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
  const BlockTerms terms = !in_order ? lane_terms : is_short(r) ? window_terms : column_terms;
  const auto lanes_of = [&](size_t d) {
    return d + 1 == r.loops.size() && !in_order ? int64_t{reduce_lanes} : 1;
  };
  std::vector<int64_t> steps;
  int64_t all = 1;  // or one more than a block may have
  for (size_t d = 0; d < r.loops.size(); ++d) {
    const int64_t extent = std::max<int64_t>(most(r.loops[d].extent), 1);
    steps.push_back((extent - 1) / lanes_of(d) + 1);
    all = steps[d] > terms.whole / all ? terms.whole + 1 : all * steps[d];
  }
  if (all <= terms.whole) return std::nullopt;
  int64_t inside = 1;  // steps of the loops inside
  for (size_t d = r.loops.size(); d-- > 0;) {
    if (steps[d] > terms.block / inside) return SumBlocks{d, terms.block / inside * lanes_of(d)};
    inside *= steps[d];
  }
  return std::nullopt;
}

}  // namespace cleave::loop
