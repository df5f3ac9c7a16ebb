// An order of all tasks, each once, with a small peak (rule of task_graph.h).
//
//   candidates   list schedules by several keys, forward and backward; trees and series-parallel
//                pieces merged exactly (series_parallel.h); the given order
//   then         the best one's tasks around its peak are reordered by complete search
//                (window_order.h), repeatedly while that helps and sets are left
//
// `optimal` is proven: the peak equals the bytes of the largest task, the merge covered the whole
// graph, or a complete search over all of it found nothing better. That is the case for graphs of
// up to 64 tasks unless they have more than 20000 sets to visit. Among candidates with equal peaks:
// the first of min_peak, given, and the rest. O(n log n).
#pragma once
#include "plan/task_graph.h"

namespace cleave::plan {

struct Order {
  std::vector<TaskId> tasks;
  int64_t peak = 0;
  int64_t lower_bound = 0;  // no order has a smaller peak
  bool optimal = false;
};

// `given`: an order to include as a candidate, or empty.
Order min_peak_order(const TaskGraph& graph, std::span<const TaskId> given = {});

// The most bytes of a single task: operands, values, workspace. A bound for any sequence: of
// several optional values a run may make the largest alone.
int64_t largest_task(const TaskGraph& graph);

}  // namespace cleave::plan
