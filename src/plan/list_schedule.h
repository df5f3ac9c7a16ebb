// Orders by list scheduling: of the ready tasks, the one with the least key runs next.
//
//   min_peak    (max(peak so far, live + bytes + workspace), growth, number); growth is what
//                 the task leaves in memory: bytes - operands that it reads last. Source: PyTorch's
//                 `topological_sort_lpmf` (torch/_inductor/memory.py, 2.6), there quadratic
//   min_growth  (growth, number)
//   newest        the last to become ready: depth first
//   oldest        the first to become ready: breadth first
//
// Each O((n + links) log n).
#pragma once
#include "plan/task_graph.h"

namespace cleave::plan {

enum class ListKey { min_peak, min_growth, newest, oldest };

std::vector<TaskId> list_schedule(const TaskGraph& graph, ListKey key);

// Builds the order from its end: of the tasks whose readers are all placed, the one that adds the
// least to memory is placed last (operands that no placed task reads, minus its own value).
std::vector<TaskId> list_schedule_backward(const TaskGraph& graph);

}  // namespace cleave::plan
