#include "flow/budget_choice.h"

#include <algorithm>
#include <numeric>
#include <queue>

namespace cleave::flow {
namespace {

size_t at(int32_t i) { return static_cast<size_t>(i); }

// Connected sets of calls (union-find).
class ConnectedCalls {
 public:
  explicit ConnectedCalls(size_t calls) : parent_(calls) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  size_t find(size_t n) {
    while (parent_[n] != n) n = parent_[n] = parent_[parent_[n]];
    return n;
  }
  void join(size_t a, size_t b) {
    a = find(a), b = find(b);
    parent_[std::max(a, b)] = std::min(a, b);  // a set's first call is its root
  }

 private:
  std::vector<size_t> parent_;
};

// By call: the connected set that it belongs to, if it is recomputed from corner + 1 on but not at
// `corner`; -1 for all others. Two such calls are connected if one reads a value of the other, or
// if both read the same value that is neither free nor recomputed at `corner`.
std::vector<int64_t> parts_between(const ForwardGraph& g, const std::vector<int32_t>& corner_of,
                                   size_t corner) {
  const auto differs = [&](size_t n) { return corner_of[n] == static_cast<int32_t>(corner) + 1; };
  ConnectedCalls parts(g.cost.size());
  std::vector<int64_t> call_of(g.bytes.size(), -1), touched(g.bytes.size(), -1);
  for (size_t n = 0; n < g.cost.size(); ++n) {
    for (int32_t v = g.result_begin[n]; v < g.result_begin[n + 1]; ++v)
      call_of[at(v)] = static_cast<int64_t>(n);
    if (!differs(n)) continue;
    for (int32_t k = g.operand_begin[n]; k < g.operand_begin[n + 1]; ++k) {
      const size_t v = at(g.operand[at(k)]);
      const int64_t maker = call_of[v];
      // A value that is free or recomputed at `corner` doesn't connect its readers.
      const bool given = maker >= 0 && corner_of[static_cast<size_t>(maker)] >= 0 &&
                         corner_of[static_cast<size_t>(maker)] <= static_cast<int32_t>(corner);
      if (given || (g.bytes[v] == 0 && !g.unsavable[v])) continue;
      if (maker >= 0 && differs(static_cast<size_t>(maker)))
        parts.join(n, static_cast<size_t>(maker));
      if (touched[v] >= 0) parts.join(n, static_cast<size_t>(touched[v]));
      touched[v] = static_cast<int64_t>(n);
    }
  }
  std::vector<int64_t> out(g.cost.size(), -1);
  for (size_t n = 0; n < out.size(); ++n)
    if (differs(n)) out[n] = static_cast<int64_t>(parts.find(n));
  return out;
}

struct Branch {
  std::vector<std::pair<int32_t, bool>> fixed;  // call, runs again
  int64_t bound = 0;
};

ForwardGraph with_fixed(const ForwardGraph& graph,
                        const std::vector<std::pair<int32_t, bool>>& fixed) {
  ForwardGraph g = graph;
  for (const auto& [n, again] : fixed) {
    if (!again) g.pinned[at(n)] = 1;
    for (int32_t v = g.result_begin[at(n)]; again && v < g.result_begin[at(n) + 1]; ++v)
      g.unsavable[at(v)] = 1;
  }
  return g;
}

class Search {
 public:
  Search(const ForwardGraph& graph, int64_t bytes, int max_frontiers)
      : graph_(graph), bytes_(bytes), frontiers_left_(max_frontiers) {}

  Result<std::optional<BudgetChoice>> run() {
    CLEAVE_CHECK(explore({}));
    if (!best_) return std::optional<BudgetChoice>();
    while (!open_.empty() && frontiers_left_ > 0 && open_.top().bound < best_->cost) {
      const Branch branch = open_.top();
      open_.pop();
      CLEAVE_TRY(const int32_t call, call_to_fix(branch));
      if (call < 0) {
        settled_ = std::min(settled_, branch.bound);
        continue;
      }
      for (const bool again : {true, false}) {
        Branch next = branch;
        next.fixed.emplace_back(call, again);
        CLEAVE_CHECK(explore(std::move(next)));
      }
    }
    BudgetChoice out;
    out.choice = *std::move(best_);
    out.min_cost = std::min(out.choice.cost, settled_);
    if (!open_.empty()) out.min_cost = std::min(out.min_cost, open_.top().bound);
    out.optimal = out.min_cost == out.choice.cost;
    return std::optional(std::move(out));
  }

 private:
  // Computes a branch's bound, considers the choices of its frontier, and queues the branch.
  Status explore(Branch branch) {
    --frontiers_left_;
    const ForwardGraph g = with_fixed(graph_, branch.fixed);
    if (find_conflict(g)) return {};
    CLEAVE_TRY(const PartitionFrontier frontier, PartitionFrontier::make(g));
    const std::optional<int64_t> bound = frontier.min_cost(bytes_);
    if (!bound || (best_ && *bound >= best_->cost)) return {};
    size_t right = 0;
    while (frontier.corners()[right].bytes > bytes_) ++right;
    consider(frontier.recompute_at(right));
    if (right > 0)
      for (std::vector<uint8_t>& again : points_between(g, frontier, right - 1))
        consider(std::move(again));
    branch.bound = *bound;
    if (!best_ || branch.bound < best_->cost) open_.push(std::move(branch));
    return {};
  }

  // Keeps the choice if it is the best so far, after trying to recompute fewer calls.
  void consider(std::vector<uint8_t> again) {
    PartitionChoice choice = choice_of(graph_, std::move(again));
    for (size_t v = 0; v < choice.save.size(); ++v)
      if (choice.save[v] && graph_.unsavable[v]) return;
    if (choice.bytes > bytes_ || (best_ && choice.cost >= best_->cost + choice.cost / 4)) return;
    if (++tried_ <= 64) shrink(choice);
    if (!best_ || choice.cost < best_->cost) best_ = std::move(choice);
  }

  // Saves the results of recomputed calls instead, the most expensive first, as far as they fit.
  void shrink(PartitionChoice& choice) const {
    std::vector<int32_t> calls;
    for (int32_t n = 0; n < graph_.calls(); ++n)
      if (choice.recompute[at(n)] && graph_.cost[at(n)] > 0 && can_be_saved(n)) calls.push_back(n);
    std::stable_sort(calls.begin(), calls.end(),
                     [&](int32_t a, int32_t b) { return graph_.cost[at(a)] > graph_.cost[at(b)]; });
    constexpr size_t max_tried = 48;
    if (calls.size() > max_tried) calls.resize(max_tried);
    for (const int32_t n : calls) {
      std::vector<uint8_t> again = choice.recompute;
      again[at(n)] = 0;
      PartitionChoice next = choice_of(graph_, std::move(again));
      if (next.bytes <= bytes_ && next.cost < choice.cost) choice = std::move(next);
    }
  }

  bool can_be_saved(int32_t n) const {
    for (int32_t v = graph_.result_begin[at(n)]; v < graph_.result_begin[at(n) + 1]; ++v)
      if (graph_.unsavable[at(v)]) return false;
    return true;
  }

  // The most expensive call that isn't fixed and that differs between the two corners around the
  // budget; -1: there is none.
  Result<int32_t> call_to_fix(const Branch& branch) const {
    const ForwardGraph g = with_fixed(graph_, branch.fixed);
    CLEAVE_TRY(const PartitionFrontier frontier, PartitionFrontier::make(g));
    int32_t right = 0, best = -1;
    while (frontier.corners()[at(right)].bytes > bytes_) ++right;
    for (int32_t n = 0; n < g.calls(); ++n) {
      if (frontier.corner_of_call()[at(n)] != right || g.pinned[at(n)] || !can_be_saved(n))
        continue;
      if (std::any_of(branch.fixed.begin(), branch.fixed.end(),
                      [&](const auto& f) { return f.first == n; }))
        continue;
      if (best < 0 || g.cost[at(n)] > g.cost[at(best)]) best = n;
    }
    return best;
  }

  struct HigherBound {
    bool operator()(const Branch& a, const Branch& b) const { return a.bound > b.bound; }
  };
  const ForwardGraph& graph_;
  int64_t bytes_;
  int frontiers_left_, tried_ = 0;
  std::optional<PartitionChoice> best_;
  int64_t settled_ = std::numeric_limits<int64_t>::max();  // bounds of branches that can't be split
  std::priority_queue<Branch, std::vector<Branch>, HigherBound> open_;
};

}  // namespace

std::vector<std::vector<uint8_t>> points_between(const ForwardGraph& graph,
                                                 const PartitionFrontier& frontier, size_t corner,
                                                 size_t max_points) {
  const std::vector<int64_t> part = parts_between(graph, frontier.corner_of_call(), corner);
  std::vector<size_t> rank(part.size());  // of a set, at its first call
  size_t parts = 0;
  for (size_t n = 0; n < part.size(); ++n)
    if (part[n] == static_cast<int64_t>(n)) rank[n] = parts++;
  std::vector<std::vector<uint8_t>> out;
  const size_t sets = parts == 0 ? 0 : std::min(parts - 1, max_points);
  for (size_t k = 1; k <= sets; ++k) {
    const size_t upto = k * parts / (sets + 1);  // the first so many sets
    std::vector<uint8_t>& again = out.emplace_back(frontier.recompute_at(corner));
    for (size_t n = 0; n < part.size(); ++n)
      if (part[n] >= 0 && rank[static_cast<size_t>(part[n])] < upto) again[n] = 1;
  }
  return out;
}

Result<std::optional<BudgetChoice>> choose_within(const ForwardGraph& graph, int64_t bytes,
                                                  int max_frontiers) {
  return Search(graph, bytes, max_frontiers).run();
}

}  // namespace cleave::flow
