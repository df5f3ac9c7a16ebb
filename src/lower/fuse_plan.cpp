#include "lower/fuse_plan.h"

#include <algorithm>

#include "lower/fuse_again.h"
#include "lower/fuse_split.h"
#include "lower/fuse_work.h"

namespace cleave {
namespace {

constexpr int max_rounds = 3;    // what is computed again makes more of it possible
constexpr size_t max_alone = 6;  // choices that are tried one by one in a round
// Calls that all tries look at: in a large graph, where one choice matters little, few are made.
constexpr size_t max_tried_calls = 4000;

class Planner {
 public:
  Planner(const Graph& graph, const FuseCosts& costs) : g_(graph), costs_(costs) {}

  FusePlan run() {
    best_ = {describe_calls(g_, costs_), {}};
    best_.groups = group_calls(g_, best_.calls, costs_, readers_);
    const FuseGroups last = best_.groups;  // as they were before they are split
    split_groups(g_, best_.calls, costs_.choices.cut, best_.groups, known_);
    try_readers({.of_size = true, .merged = false}, last);
    try_readers({.of_size = readers_.of_size, .merged = true}, last);
    for (int round = 0; round < max_rounds; ++round)
      if (!try_again(find_repeatable(g_, best_.calls, best_.groups, costs_))) break;
    return std::move(best_);
  }

 private:
  bool take_if_better(FusePlan plan) {
    if (work_ < 0) work_ = work_of(g_, best_.calls, best_.groups, costs_, known_);
    const int64_t work = work_of(g_, plan.calls, plan.groups, costs_, known_);
    if (work >= work_) return false;
    best_ = std::move(plan), work_ = work;
    return true;
  }

  // `last`: groups that were tried.
  void try_readers(FuseReaders readers, const FuseGroups& last) {
    FuseGroups groups = group_calls(g_, best_.calls, costs_, readers);
    if (std::ranges::equal(groups.all, last.all, {}, &FuseGroup::nodes, &FuseGroup::nodes)) return;
    split_groups(g_, best_.calls, costs_.choices.cut, groups, known_);
    if (take_if_better({best_.calls, std::move(groups)})) readers_ = readers;
  }

  // Tried as long as there is time for it; false afterwards.
  bool is_better_with(const std::vector<NodeId>& calls) {
    if (tried_calls_ > max_tried_calls) return false;
    tried_calls_ += best_.calls.order.size();
    std::set<NodeId> again = again_;
    again.insert(calls.begin(), calls.end());
    FusePlan plan{describe_calls(g_, costs_, again), {}};
    plan.groups = group_calls(g_, plan.calls, costs_, readers_);
    split_groups(g_, plan.calls, costs_.choices.cut, plan.groups, known_);
    if (!take_if_better(std::move(plan))) return false;
    again_ = std::move(again);
    return true;
  }

  // All of them, or else one by one.
  bool try_again(const std::vector<std::vector<NodeId>>& found) {
    if (found.empty()) return false;
    std::vector<NodeId> all;
    for (const std::vector<NodeId>& calls : found)
      all.insert(all.end(), calls.begin(), calls.end());
    if (is_better_with(all)) return true;
    bool is_better = false;
    for (size_t k = 0; found.size() > 1 && k < std::min(found.size(), max_alone); ++k)
      is_better |= is_better_with(found[k]);
    return is_better;
  }

  const Graph& g_;
  const FuseCosts& costs_;
  FusePlan best_;
  FuseKnown known_;
  FuseReaders readers_;
  std::set<NodeId> again_;
  size_t tried_calls_ = 0;
  int64_t work_ = -1;  // of the best, when it is known
};

}  // namespace

FusePlan plan_fusion(const Graph& graph, const FuseCosts& costs) {
  return Planner(graph, costs).run();
}

}  // namespace cleave
