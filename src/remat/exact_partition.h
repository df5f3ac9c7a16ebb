// Mode exact: the best trade-offs between saved bytes and recomputation time, and the cut at each.
//
//   JointView ─► CutGraph ─► parametric minimum cut ─► corners ─► points: corners, some between
//                                                          └────► lower bound of cost at any bytes
//
// The points don't depend on a budget. Bytes and cost are those of cut_graph.h, not the peak of a
// lowered program: budget_partition.h chooses a point by its peak.
#pragma once
#include <memory>

#include "cut/partition.h"
#include "flow/budget_choice.h"
#include "remat/cut_graph.h"

namespace cleave {

struct CutPoint {
  int64_t saved_bytes = 0;
  int64_t cost_ns = 0;
  int32_t corner = -1;           // of the convex frontier; -1: between two corners
  std::vector<uint8_t> between;  // by call of the CutGraph: runs again; empty for a corner
};

// To be done first: removes dead calls and merges equal ones.
void simplify_joint(Graph& joint);

// How points between two corners are found: from connected sets of calls (flow::points_between), or
// also by branch and bound (flow::choose_within).
enum class Between : uint8_t { connected_parts, searched };

class ExactCut {
 public:
  static Result<ExactCut> make(CutGraph graph, Between between = Between::searched);
  // The same for a graph, which must outlive it; with `forward_results` > 0 for a whole program
  // (JointView::of_program). Errors: those of JointView and CutGraph.
  static Result<ExactCut> of(const Graph& joint, const MachineRates& rates,
                             Returned returned = Returned::free, size_t forward_results = 0,
                             Between between = Between::searched);

  const CutGraph& graph() const { return graph_; }
  // Bytes fall, cost rises.
  const std::vector<CutPoint>& points() const { return points_; }
  // By call of the CutGraph: whether it runs again.
  std::vector<uint8_t> recompute_at(size_t point) const;
  const flow::PartitionFrontier& frontier() const { return frontier_; }
  // No cut that saves at most `bytes` costs less than this; nullopt if no cut saves so little.
  std::optional<int64_t> min_cost(int64_t bytes) const { return frontier_.min_cost(bytes); }
  int64_t min_bytes() const { return points_.back().saved_bytes; }
  Result<Partition> partition(const std::vector<uint8_t>& recompute) const;
  Result<Partition> partition_at(size_t point) const { return partition(recompute_at(point)); }
  // The cheapest cut that saves at most `bytes`. Error (user): every cut saves more.
  Result<flow::BudgetChoice> within(int64_t bytes) const;

 private:
  ExactCut(CutGraph graph, flow::PartitionFrontier frontier)
      : graph_(std::move(graph)), frontier_(std::move(frontier)) {}

  void add_points();
  Status search_between();

  std::shared_ptr<const JointView> view_;  // owned here if made by `of`
  CutGraph graph_;
  flow::PartitionFrontier frontier_;
  std::vector<CutPoint> points_;
};

// Of the calls that run in both halves.
int64_t recompute_cost_ns(const Graph& joint, const Partition& cut, const MachineRates& rates);

}  // namespace cleave
