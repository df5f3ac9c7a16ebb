#include "remat/exact_partition.h"

#include <algorithm>

#include "cut/split_joint.h"
#include "ir/edit.h"

namespace cleave {

void simplify_joint(Graph& joint) {
  eliminate_dead_code(joint);
  eliminate_common_subexpressions(joint);
}

Result<ExactCut> ExactCut::make(CutGraph graph, Between between) {
  CLEAVE_TRY(flow::PartitionFrontier frontier, flow::PartitionFrontier::make(graph.flow()));
  ExactCut out(std::move(graph), std::move(frontier));
  out.add_points();
  if (between == Between::searched) CLEAVE_CHECK(out.search_between());
  return out;
}

Result<ExactCut> ExactCut::of(const Graph& joint, const MachineRates& rates, Returned returned,
                              size_t forward_results, Between between) {
  Result<JointView> made =
      forward_results == 0 ? JointView::make(joint) : JointView::of_program(joint, forward_results);
  CLEAVE_TRY(JointView view, std::move(made));
  auto shared = std::make_shared<const JointView>(std::move(view));
  CLEAVE_TRY(CutGraph graph, CutGraph::make(*shared, rates, returned));
  CLEAVE_TRY(ExactCut out, make(std::move(graph), between));
  out.view_ = std::move(shared);
  return out;
}

std::vector<uint8_t> ExactCut::recompute_at(size_t point) const {
  const CutPoint& p = points_[point];
  return p.corner < 0 ? p.between : frontier_.recompute_at(static_cast<size_t>(p.corner));
}

// The corners and, as far as the size of the graph allows, points between them
// (flow::points_between).
void ExactCut::add_points() {
  const flow::ForwardGraph& flow = graph_.flow();
  const auto& corners = frontier_.corners();
  const auto add = [&](CutPoint point) {
    if (points_.empty() || point.saved_bytes < points_.back().saved_bytes)
      points_.push_back(std::move(point));
  };
  constexpr int64_t max_work = 20000000;  // calls examined
  const auto size = std::ssize(corners) * std::ssize(flow.cost);
  const auto most = static_cast<size_t>(std::clamp<int64_t>(max_work / (size + 1), 0, 32));
  for (size_t k = 0; k < corners.size(); ++k) {
    add({corners[k].bytes, corners[k].cost, static_cast<int32_t>(k), {}});
    if (k + 1 == corners.size() || most == 0) continue;
    for (std::vector<uint8_t>& again : flow::points_between(flow, frontier_, k, most)) {
      flow::PartitionChoice c = flow::choice_of(flow, std::move(again));
      add({c.bytes, c.cost, -1, std::move(c.recompute)});
    }
  }
}

// Between two points that are far apart the best choices lie above the chord: a few of them are
// searched for, with an effort that depends only on the size of the graph.
Status ExactCut::search_between() {
  constexpr int levels = 3;
  const auto calls = static_cast<int64_t>(graph_.flow().cost.size());
  const int64_t gaps = std::ssize(points_) - 1;
  const int64_t effort = 200000 / std::max<int64_t>(1, calls * gaps * levels);
  if (effort < 2) return {};
  const int most = static_cast<int>(std::min<int64_t>(effort, 24));
  std::vector<CutPoint> all{points_.front()};
  for (size_t k = 1; k < points_.size(); ++k) {
    const CutPoint &left = points_[k - 1], &right = points_[k];
    for (int level = 1; level <= levels; ++level) {
      const int64_t bytes = right.saved_bytes + (left.saved_bytes - right.saved_bytes) *
                                                    (levels + 1 - level) / (levels + 1);
      CLEAVE_TRY(auto found, flow::choose_within(graph_.flow(), bytes, most));
      if (!found || found->choice.cost >= right.cost_ns ||
          found->choice.bytes >= all.back().saved_bytes)
        continue;
      flow::PartitionChoice& c = found->choice;
      if (c.cost < all.back().cost_ns) continue;  // the point before is worse, but it is kept
      all.push_back({c.bytes, c.cost, -1, std::move(c.recompute)});
    }
    if (right.saved_bytes < all.back().saved_bytes) all.push_back(right);
  }
  points_ = std::move(all);
  return {};
}

Result<Partition> ExactCut::partition(const std::vector<uint8_t>& recompute) const {
  const JointView& joint = graph_.joint();
  CLEAVE_TRY(Partition cut, split_joint(joint, [&](ValueId v) -> KeepChoice {
               const int32_t call = graph_.call(joint.graph().value(v).def);
               std::string constraint = graph_.constraint_on(v);
               if (recompute[static_cast<size_t>(call)])
                 return {Keep::recompute,
                         constraint.empty() ? "cheaper than its bytes" : constraint};
               return {Keep::save, constraint.empty() ? "in the minimum cut" : constraint};
             }));
  return cut;
}

Result<flow::BudgetChoice> ExactCut::within(int64_t bytes) const {
  CLEAVE_TRY(std::optional<flow::BudgetChoice> found, flow::choose_within(graph_.flow(), bytes));
  if (!found)
    return user_error("the least that can be saved is {} B, more than the {} B allowed",
                      min_bytes(), bytes);
  return *std::move(found);
}

int64_t recompute_cost_ns(const Graph& joint, const Partition& cut, const MachineRates& rates) {
  int64_t sum = 0;
  for (const NodeId n : cut.run_twice) sum += call_ns(joint, n, rates);
  return sum;
}

}  // namespace cleave
