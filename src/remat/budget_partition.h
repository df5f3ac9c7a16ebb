// A joint graph cut in two under a budget for the exact peak of its halves.
#pragma once
#include "cleave/memory_budget.h"
#include "remat/exact_partition.h"
#include "remat/forward_backward_peak.h"

namespace cleave {

// The points of an exact cut with the peaks of their halves, each planned once at most.
class CutPeaks {
 public:
  CutPeaks(const ExactCut& exact, ProgramPlanner& planner)
      : exact_(exact), planner_(planner), peaks_(exact.points().size()),
        min_peaks_(exact.points().size()) {}
  Result<ForwardBackwardPeak> at(size_t point);
  // The exact peak if it may be within `room`, else a lower bound of the peak, above `room`.
  Result<int64_t> within(size_t point, int64_t room);

 private:
  const ExactCut& exact_;
  ProgramPlanner& planner_;
  std::vector<std::optional<ForwardBackwardPeak>> peaks_;
  std::vector<int64_t> min_peaks_;  // lower bounds of the peaks; 0: none known
};

struct BudgetPartition {
  Partition cut;
  ForwardBackwardPeak peak;
  // No cut has a smaller peak: the least that is in memory between the halves.
  int64_t lower_bound_bytes = 0;
};

// The cheapest point whose peak is within the budget, ties to the smaller peak, then to the first.
// Without a budget, the peak of point 0 is the budget. Errors (user): no point is within it; names
// the smallest peak found and the lower bound. Errors of lowering.
Result<BudgetPartition> cut_within(const ExactCut& exact, const MemoryBudget& budget,
                                   ProgramPlanner& planner);

}  // namespace cleave
