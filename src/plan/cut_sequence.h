// Finds sequences within a memory limit by successive cuts at their peaks.
//
//   order --cut at its peak--> sequence with copies --cut at its peak--> ... --> within the limit
//
// A cut determines what to recompute after a moment (moment_cut.h). Recomputed values take memory
// of their own there, so the new sequence may have a peak above the limit after the old one: it is
// unrolled into a graph of its runs, and cut in turn. When that stops helping, the order is cut
// again with less room, reduced by as much as the result was above the limit.
#pragma once
#include <optional>

#include "plan/task_graph.h"

namespace cleave::plan {

struct CutSequence {
  std::vector<TaskId> tasks;
  int64_t peak = 0;
  size_t peak_position = 0;
};

// Makes at most `cuts` cuts, starting from `order`, and stops at the first sequence within the
// limit. Returns the sequence with the least peak; nothing if no cut recomputes anything.
std::optional<CutSequence> cut_to_limit(const TaskGraph& graph, std::span<const TaskId> order,
                                        int64_t limit, int cuts);

// Returns a graph with one task for each run, whose operands are the runs whose values the run
// reads. Errors (user): a run reads a task that has not run.
Result<TaskGraph> unrolled(const TaskGraph& graph, std::span<const TaskId> sequence);

// Returns `order` with the tasks of `again` run a second time after position `at`, each right
// before its first reader there, those of kept values that nobody reads there at the end. Readers
// before `at` don't change.
std::vector<TaskId> with_recomputed(const TaskGraph& graph, std::span<const TaskId> order,
                                    size_t at, std::span<const TaskId> again);

}  // namespace cleave::plan
