#include "remat/budget_partition.h"

#include <algorithm>

#include "base/result.h"

namespace cleave {
namespace {

// What is in memory between the halves of one point, derived from another point's; exact up to the
// rounding of the saved values.
int64_t min_between(const ForwardBackwardPeak& one, int64_t saved_there, int64_t saved_here) {
  return one.between - saved_there + saved_here;
}

}  // namespace

Result<ForwardBackwardPeak> CutPeaks::at(size_t point) {
  if (!peaks_[point]) {
    CLEAVE_TRY(const Partition cut, exact_.partition_at(point));
    CLEAVE_TRY(peaks_[point], forward_backward_peak(exact_.graph().joint().graph(), cut, planner_));
  }
  return *peaks_[point];
}

Result<int64_t> CutPeaks::within(size_t point, int64_t room) {
  if (peaks_[point]) return peaks_[point]->peak();
  if (min_peaks_[point] > room) return min_peaks_[point];
  CLEAVE_TRY(const Partition cut, exact_.partition_at(point));
  CLEAVE_TRY(const ForwardBackwardPeak found,
             forward_backward_peak(exact_.graph().joint().graph(), cut, planner_, room));
  min_peaks_[point] = found.peak();
  if (found.peak() <= room) peaks_[point] = found;
  return found.peak();
}

Result<BudgetPartition> cut_within(const ExactCut& exact, const MemoryBudget& budget,
                                   ProgramPlanner& planner) {
  const Graph& joint = exact.graph().joint().graph();
  const std::vector<CutPoint>& points = exact.points();
  CutPeaks peaks(exact, planner);
  CLEAVE_TRY(const ForwardBackwardPeak whole, peaks.at(0));
  const int64_t room = budget.given() ? budget.bytes(whole.peak()) : whole.peak();
  // A lower bound for every point: saved values are counted without rounding up, and the most that
  // rounding can have added at the first point is subtracted.
  CLEAVE_TRY(const Partition first, exact.partition_at(0));
  const int64_t rounding = 64 * static_cast<int64_t>(first.saved.size());
  const auto bound_of = [&](int64_t saved) {
    return std::max<int64_t>(0, min_between(whole, points[0].saved_bytes, saved) - rounding);
  };
  const int64_t lower = bound_of(exact.min_bytes());
  std::optional<size_t> best;
  int64_t least = whole.peak();
  for (size_t k = 0; k < points.size(); ++k) {
    if (best && points[k].cost_ns > points[*best].cost_ns) break;
    if (bound_of(points[k].saved_bytes) > room && k + 1 < points.size()) continue;
    CLEAVE_TRY(const int64_t peak, peaks.within(k, room));
    if (peak > room) continue;
    CLEAVE_TRY(const ForwardBackwardPeak other, peaks.at(best.value_or(k)));
    if (!best || peak < other.peak()) best = k;
  }
  for (size_t k = 0; !best && k < points.size(); ++k) {
    CLEAVE_TRY(const int64_t peak, peaks.within(k, least));
    least = std::min(least, peak);
  }
  if (!best)
    return user_error(
        "@{}: a budget of {} B is below the least peak found, {} B; no cut needs less than {} B: "
        "placeholders, results and what must be saved between the halves. Give at least {} B.",
        joint.name(), room, least, lower, least);
  BudgetPartition out;
  CLEAVE_TRY(out.cut, exact.partition_at(*best));
  CLEAVE_TRY(out.peak, peaks.at(*best));
  out.lower_bound_bytes = lower;
  return out;
}

}  // namespace cleave
