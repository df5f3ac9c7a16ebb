// Reorders at most 64 consecutive tasks within an order optimally, by complete search.
//
//   ... a b c [ d e f g h ] i j ...     live values before and after the run stay the same
//
// Best-first search over the sets of tasks run so far (ideals), by the peak so far; what is live
// depends only on the set. A task that fits under the peak so far and doesn't increase the live
// memory runs at once: putting it first makes no other task worse. Source: the search of Ahn et
// al., "Ordering chaos" (SERENITY), MLSys 2020, section 3; the dominance rule is ours.
#pragma once
#include "plan/task_graph.h"

namespace cleave::plan {

enum class WindowEnd { improved, optimal, unknown };  // unknown: more sets than `max_sets`

struct WindowOrder {
  WindowEnd end = WindowEnd::unknown;
  int64_t peak = 0;  // within the run
  size_t sets = 0;   // visited
};

// Reorders the tasks at [begin, end) of `order` (an order of all tasks, `position` its inverse) if
// that lowers the peak within them; updates both. `optimal`: no improvement exists. O(sets *
// tasks).
WindowOrder order_window(const TaskGraph& graph, std::vector<TaskId>& order,
                         std::vector<uint32_t>& position, size_t begin, size_t end,
                         int64_t live_before, size_t max_sets);

}  // namespace cleave::plan
