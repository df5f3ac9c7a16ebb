// Merges trees and series-parallel pieces of a graph into chains of segments, each order optimal.
//
//   segment        memory ^      __              hill:   highest above its start
//                         |  __/   \_            growth: end against start
//                         | /        \___
//                         +---------------> step
//
// A step climbs by its value and workspace and ends with what it adds or frees; the reader that is
// after all other readers of a value in every order frees it. Of independent chains the segments
// run in this order: those that don't grow, lowest hill first; then those that grow, largest
// (hill - growth) first. A chain's segments that are out of that order become one segment. With
// these two rules, two tasks of equal neighbours (parallel) and a task with its only reader, whose
// only operand it is (series), become one. Where the whole graph becomes one, the order is optimal.
// Source: Abdel-Wahab and Kameda, "Scheduling to minimize maximum cumulative cost subject to
// series-parallel precedence constraints", 1978; Liu, "An application of generalized tree pebbling
// to sparse matrix factorization", 1987, is the case of trees.
#pragma once
#include "plan/task_graph.h"

namespace cleave::plan {

struct MergedOrder {
  std::vector<TaskId> steps;
  bool exact = false;  // no order has a smaller peak
};

// What doesn't merge is ordered by its next segment, greedily. O((n + links) log^2 n).
MergedOrder merge_series_parallel(const TaskGraph& graph);

}  // namespace cleave::plan
