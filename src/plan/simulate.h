// Simulates a sequence: the validator of orders and of plans with recomputations. It shares nothing
// with the solvers: no profile, no lifetimes; it tracks the set of values that are in memory from
// run by run by the rule drawn in task_graph.h.
#pragma once
#include "plan/task_graph.h"

namespace cleave::plan {

struct Simulated {
  int64_t peak = 0;               // most bytes at one position
  size_t peak_position = 0;       // the first such position
  int64_t time = 0;               // of the whole sequence
  int64_t time_once = 0;          // of all tasks once
  std::vector<int64_t> bytes_at;  // by position

  double overhead_percent() const {
    return time_once == 0
               ? 0.0
               : 100.0 * static_cast<double>(time - time_once) / static_cast<double>(time_once);
  }
};

// Of a task's values a run makes those that are read before its next run, those that aren't
// optional, and in the last run those that are kept.
//
// Errors (user): a task that isn't in the graph, one that never runs, one that runs before an
// operand has, a `once` task that runs again. O(runs + operands read).
Result<Simulated> simulate(const TaskGraph& graph, std::span<const TaskId> sequence);

}  // namespace cleave::plan
