// Lower bounds on the time that any sequence within a memory limit spends on recomputation.
//
// Take any valid sequence and the moment when a task q runs for the first time. All ancestors of q
// have run, no descendant has. Whatever a task after the moment reads is in memory at the moment,
// or its task runs after it: again, if it is an ancestor. What is in memory fits the limit. So the
// sequence defines a choice of (kept, run again) that obeys moment_cut.h's rules, with
//
//   time run again >= min over choices that fit of sum of time
//                  >= max over prices p of  min over choices (time + p * bytes) - p * room
//
// and each inner minimum is a cut, so any price proves a bound; the best price is found on the
// convex hull of the cuts' (bytes, time). It is rounded up, since times are integers. The bound is
// the largest over the moments tried. If the order of first runs is given, more is known: all
// earlier tasks have run and all later ones have not, which gives the second, larger bound; it
// holds for sequences whose first runs are in that order, with copies anywhere.
//
// A limit below a task's own bytes (operands, value, workspace) can't be met: `reachable` is false.
// Which moments are tried, and how many cuts, depends only on counts. O(moments * cuts), a cut as
// in moment_cut.h.
#pragma once
#include "plan/moment_cut.h"

namespace cleave::plan {

struct RecomputeBound {
  int64_t time = 0;       // least recompute time of any sequence within the limit
  bool reachable = true;  // false: no sequence is within the limit
};

// How many moments and cuts are tried.
struct BoundEffort {
  size_t moments = 16;
  int cuts = 40;  // at each
};
// From so many tasks on a cut is expensive compared with a search.
constexpr bool is_large(size_t tasks) { return tasks > 20000; }
BoundEffort effort_for(size_t tasks);

RecomputeBound bound_any_order(const TaskGraph& graph, std::span<const TaskId> order, int64_t limit,
                               const BoundEffort& effort);
RecomputeBound bound_given_order(const TaskGraph& graph, std::span<const TaskId> order,
                                 int64_t limit, const BoundEffort& effort);

// The bound at one moment, and the cheapest choice found that fits `room` bytes: what to recompute.
// It is a cut, or lies between two: what one of them runs again, and the first tasks of the other.
struct MomentBound {
  int64_t time = 0;
  bool reachable = true;
  MomentCut fits;  // bytes <= room if reachable; keep_least at worst
};
MomentBound bound_at(const Moment& moment, int64_t limit, int max_cuts = 40);

// The moment of position `at` of the order: all tasks before it have run, all after have not.
Moment moment_in_order(const TaskGraph& graph, std::span<const TaskId> order, size_t at);

}  // namespace cleave::plan
