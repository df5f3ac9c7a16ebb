// Finds a sequence with copies (recomputations) whose peak is within a limit and whose time is
// small: simulated annealing on
//
//   energy = time + price * sum over positions of max(0, bytes - limit)
//
// in which the price rises while the sequence is above the limit and falls while it is within, so
// that the walk stays near the border. Moves: add a copy right before a reader (at random, or the
// first after a position above the limit), with or without copies of its dead operands; add one of
// a task with a kept value at any later position; remove a copy; do both; move a copy, a stretch of
// copies, or a copy with all the copies in between that it needs. `once` tasks get no copies. Each
// move is made, evaluated and undone if rejected (Sequence). After Huang et al., "A fast heuristic
// to optimize time-space tradeoff for large models" (FastSA), NeurIPS 2023, section 4, which prices
// the peak instead of the sum; the sum distinguishes a plateau that shrinks from one that doesn't.
//
// Deterministic: the answer depends only on the arguments, and the search ends after `moves`, of
// which a long one counts as several.
#pragma once
#include "plan/task_graph.h"

namespace cleave::plan {

enum class SearchKind {
  wide,        // starts hot
  near_start,  // starts warm: a good start keeps its shape
  order_only,  // no copies are added or removed
};

struct SearchOptions {
  uint64_t seed = 1;
  int64_t moves = 100000;
  int64_t enough_time = 0;  // a sequence within the limit that takes no longer ends the search
  SearchKind kind = SearchKind::wide;
};

struct FoundSequence {
  std::vector<TaskId> tasks;
  int64_t peak = 0, time = 0;
  // peak <= limit; the least time then, else the least peak seen (order_only: the least sum above
  // the limit).
  bool met = false;
};

// `start` must be valid. Never worse than `start`. O(moves * (operands * users + sqrt(runs))).
FoundSequence search_sequence(const TaskGraph& graph, std::span<const TaskId> start, int64_t limit,
                              const SearchOptions& options);

}  // namespace cleave::plan
