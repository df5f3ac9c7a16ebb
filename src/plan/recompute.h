// Finds a sequence within a memory limit, by ordering and recomputation, with certified bounds:
// what `cleave remat` prints.
//
//   orders (given, least peak) --> within the limit: done, overhead 0
//        |
//        +--> up to 12 values: complete search, exact (exact_sequence.h)
//        +--> cuts at the peak choose what to recompute --> sequences --> search on the real peak
//        |      where they don't get there, blocks of it do (block_sequence.h)
//        +--> bounds, over every order and in the given order
//
// For up to 12 values these are exact: whether a sequence is within the limit, its time, which is
// the bound, and if there is none the least peak of all. For larger graphs only the bounds are
// certain.
//
// Deterministic, and bounded by a count of moves.
#pragma once
#include "plan/sequence_search.h"
#include "plan/task_graph.h"

namespace cleave::plan {

struct RecomputeOptions {
  uint64_t seed = 1;
  int64_t moves = 0;                             // of the search; 0: recompute_moves(tasks)
  std::span<const std::vector<TaskId>> seeds{};  // sequences to start from as well; must be valid
};

struct RecomputePlan {
  FoundSequence found;
  int64_t time_once = 0;         // of all tasks once
  int64_t bound_time = 0;        // least recompute time of any sequence within the limit
  int64_t bound_given_time = 0;  // the same, if first runs are in the given order
  bool reachable = true;         // false: no sequence is within the limit
  int64_t min_peak = 0;          // no sequence has a lower one

  double percent(int64_t extra_time) const {
    return time_once == 0
               ? 0.0
               : 100.0 * static_cast<double>(extra_time) / static_cast<double>(time_once);
  }
};

// Errors (user): `given` is not an order of the graph.
Result<RecomputePlan> plan_recompute(const TaskGraph& graph, std::span<const TaskId> given,
                                     int64_t limit, const RecomputeOptions& options = {});

// Only the search of plan_recompute, until it is close to what a cut at the orders' peaks proves
// for them. Starts from each of `orders`, which must be valid, and from options.seeds; without
// orders, goes on with the seeds alone.
FoundSequence find_recompute(const TaskGraph& graph, std::span<const std::vector<TaskId>> orders,
                             int64_t limit, const RecomputeOptions& options);

// The default number of moves, for n tasks: 100,000 + 12 n, and 4.8e16 / n^3 more for small graphs;
// at most 3,000,000, from 1,000 tasks on 3,000 n: 6,000,000 for 2,000, two to four seconds.
int64_t recompute_moves(size_t tasks);

}  // namespace cleave::plan
