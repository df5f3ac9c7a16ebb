// The best sequence with recomputations of a small graph, by complete search: over what has run and
// what of it is in memory, each task in one of three states.
//
//   not run ──run──► in memory ──forget──► gone ──run again──► in memory
//
// A sequence of task_graph.h walks through such states: a step runs a task whose operands are in
// memory, and what no later step reads is forgotten after it. Running a task whose value is in
// memory gains nothing. So there is a path of states for each useful sequence, and
//
//   min_peak     the path whose largest step is least: no sequence of any length has a lower peak
//   min_time     within a limit, the path of least time, then of fewest steps: no sequence
//                  within it takes less time
//
// are exact, recomputations, workspaces, kept values and `once` tasks included. Dijkstra's
// algorithm over at most 3^n states, 531,441 of 12 tasks: a tenth of a second where most count.
#pragma once
#include <optional>

#include "plan/sequence_search.h"

namespace cleave::plan {

constexpr size_t max_tasks_for_exact = 12;
constexpr bool is_exact(size_t tasks) { return tasks <= max_tasks_for_exact; }

// Of a graph of at most max_tasks_for_exact tasks.
int64_t exact_min_peak(const TaskGraph& graph);

// Nothing where no sequence is within the limit. With an order of all tasks, which must be valid,
// first runs follow it. found.met is true.
std::optional<FoundSequence> exact_min_time(const TaskGraph& graph, int64_t limit,
                                            std::span<const TaskId> first_runs = {});

// The sequence of the least peak, and of the least time among those.
FoundSequence exact_lowest(const TaskGraph& graph);

}  // namespace cleave::plan
