// The best sequence with recomputations of a small graph, by complete search over which tasks have
// run and which of their values are in memory; each value is in one of three states.
//
//   not run ──run──► in memory ──forget──► gone ──run again──► in memory
//
// A sequence of task_graph.h is a path through such states: each edge runs a task whose operands
// are in memory, and values that no later run reads are forgotten after it. A run makes any of the
// task's optional values, and all others. Running a task whose values are in memory gains nothing.
// So each useful sequence corresponds to a path of states, and
//
//   min_peak     the path whose peak is least: no sequence of any length has a lower peak
//   min_time     within a limit, the path of least time, then of fewest runs: no sequence
//                  within it takes less time
//
// are exact, including recomputations, workspaces, kept values and `once` tasks. Dijkstra's
// algorithm over at most 3^n states, 531,441 for 12 values: about a tenth of a second if most are
// reached.
#pragma once
#include <optional>

#include "plan/sequence_search.h"

namespace cleave::plan {

constexpr size_t max_values_for_exact = 12;
inline bool is_exact(const TaskGraph& graph) { return graph.values.size() <= max_values_for_exact; }

// Precondition: is_exact(graph).
int64_t exact_min_peak(const TaskGraph& graph);

// Returns nothing if no sequence is within the limit. If `first_runs`, a valid order of all tasks,
// is given, the tasks first run in this order. found.met is true.
std::optional<FoundSequence> exact_min_time(const TaskGraph& graph, int64_t limit,
                                            std::span<const TaskId> first_runs = {});

// The sequence of the least peak, and of the least time among those.
FoundSequence exact_lowest(const TaskGraph& graph);

}  // namespace cleave::plan
