#include "plan/offsets_fit_tree.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace cleave::plan {

FitTree::FitTree(const std::vector<Point>& by_rank) : leaf_of_(by_rank.size()) {
  while (leaves_ < by_rank.size()) leaves_ *= 2;
  nodes_.resize(2 * leaves_);
  std::vector<uint32_t> ranks(by_rank.size());
  std::iota(ranks.begin(), ranks.end(), 0u);
  if (!ranks.empty()) build(1, ranks.data(), ranks.data() + ranks.size(), leaves_, true, by_rank);
}

uint32_t FitTree::find(int32_t l, int32_t u) const {
  uint32_t best = nobody;
  size_t stack[128], top = 0;
  stack[top++] = 1;
  while (top > 0) {
    const Node& n = nodes_[stack[--top]];
    if (n.best >= best || n.max_first < l || n.min_last > u) continue;
    if (n.min_first >= l && n.max_last <= u) {
      best = n.best;
      continue;
    }
    const auto k = 2 * static_cast<size_t>(&n - nodes_.data());
    const bool left_better = nodes_[k].best < nodes_[k + 1].best;
    stack[top++] = left_better ? k + 1 : k;
    stack[top++] = left_better ? k : k + 1;
  }
  return best;
}

void FitTree::set(uint32_t rank, const Node& n) {
  size_t k = leaf_of_[rank];
  nodes_[k] = n;
  while (k /= 2) join(k);
}

void FitTree::join(size_t k) {
  const Node &a = nodes_[2 * k], &b = nodes_[2 * k + 1];
  nodes_[k] = {std::min(a.best, b.best), std::min(a.min_first, b.min_first),
               std::max(a.max_first, b.max_first), std::min(a.min_last, b.min_last),
               std::max(a.max_last, b.max_last)};
}

void FitTree::build(size_t k, uint32_t* begin, uint32_t* end, size_t leaves, bool by_first,
                    const std::vector<Point>& points) {
  if (begin == end) return;
  if (leaves == 1) {
    const Point& p = points[*begin];
    nodes_[k] = {*begin, p.first, p.first, p.last, p.last};
    leaf_of_[*begin] = k;
    return;
  }
  uint32_t* middle = begin + (end - begin + 1) / 2;
  std::nth_element(begin, middle, end, [&](uint32_t x, uint32_t y) {
    const Point &a = points[x], &b = points[y];
    return by_first ? std::tie(a.first, a.last, x) < std::tie(b.first, b.last, y)
                    : std::tie(a.last, a.first, x) < std::tie(b.last, b.first, y);
  });
  build(2 * k, begin, middle, leaves / 2, !by_first, points);
  build(2 * k + 1, middle, end, leaves / 2, !by_first, points);
  join(k);
}

}  // namespace cleave::plan
