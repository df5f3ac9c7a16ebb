// Merges trees and series-parallel parts of a graph into optimally ordered chains of segments.
//
//   segment        memory ^      __              hill:   highest above its start
//                         |  __/   \_            growth: end relative to start
//                         | /        \___
//                         +---------------> position
//
// A task climbs by its value and workspace and ends with what it adds or frees; a value is freed by
// the reader that is after all its other readers in every order. Segments of independent chains run
// in this order: those that don't grow, lowest hill first; then those that grow, by falling (hill -
// growth). Segments of a chain that are out of that order are joined into one. Two rules merge
// tasks: two tasks of equal neighbours (parallel), and a task with its only reader, whose only
// operand it is (series). If the whole graph becomes one, the order is optimal.
// Source: Abdel-Wahab and Kameda, "Scheduling to minimize maximum cumulative cost subject to
// series-parallel precedence constraints", 1978; Liu, "An application of generalized tree pebbling
// to sparse matrix factorization", 1987, is the case of trees.
#pragma once
#include "plan/task_graph.h"

namespace cleave::plan {

struct MergedOrder {
  std::vector<TaskId> tasks;
  bool exact = false;  // no order has a smaller peak
};

// Parts that don't merge are ordered by their next segment, greedily. O((n + links) log^2 n).
MergedOrder merge_series_parallel(const TaskGraph& graph);

}  // namespace cleave::plan
