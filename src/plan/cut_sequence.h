// Sequences within a memory limit by cuts at their peaks, one after the other.
//
//   order --cut at its peak--> sequence with copies --cut at its peak--> ... --> within the limit
//
// A cut says what to run again after a moment (moment_cut.h). What runs again takes memory of its
// own there, so the new sequence may have a peak above the limit after the old one: it is unrolled
// into a graph of its steps, and cut in turn. Where that stops helping, the order is cut again for
// as much less room as it ended above the limit.
#pragma once
#include <optional>

#include "plan/task_graph.h"

namespace cleave::plan {

struct CutSequence {
  std::vector<TaskId> steps;
  int64_t peak = 0;
  size_t peak_step = 0;
};

// The sequence of the least peak that at most `cuts` cuts lead to from `order`, ended by the first
// that is within the limit; nothing where no cut says to run anything again.
std::optional<CutSequence> cut_to_limit(const TaskGraph& graph, std::span<const TaskId> order,
                                        int64_t limit, int cuts);

// One task for each step, which reads the steps whose copies the step reads. Errors (user): a step
// reads a task that has not run.
Result<TaskGraph> unrolled(const TaskGraph& graph, std::span<const TaskId> steps);

// `order` with the tasks of `again` run a second time after step `at`, each right before its first
// reader there, and their last readers before `at` left as they are.
std::vector<TaskId> with_recomputed(const TaskGraph& graph, std::span<const TaskId> order,
                                    size_t at, std::span<const TaskId> again);

}  // namespace cleave::plan
