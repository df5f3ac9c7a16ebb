// The best order of a run of at most 64 steps within an order, by complete search.
//
//   ... a b c [ d e f g h ] i j ...     what is live before and after the run stays as it is
//
// Best-first search over the sets of tasks run so far (ideals), by the peak so far; what is live
// depends on the set alone. A task that fits under the peak so far and leaves memory no fuller than
// it was is run at once: putting it first changes no other step for the worse. Source: the search
// of Ahn et al., "Ordering chaos" (SERENITY), MLSys 2020, section 3; the dominance rule is ours.
#pragma once
#include "plan/task_graph.h"

namespace cleave::plan {

enum class WindowEnd { improved, optimal, unknown };  // unknown: more sets than `max_sets`

struct WindowOrder {
  WindowEnd end = WindowEnd::unknown;
  int64_t peak = 0;  // within the run
  size_t sets = 0;   // looked at
};

// Reorders steps [begin, end) of `order` (an order of all tasks, `position` its inverse) where that
// lowers the peak within them; both are updated. `optimal`: nothing to gain. O(sets * tasks).
WindowOrder order_window(const TaskGraph& graph, std::vector<TaskId>& order,
                         std::vector<uint32_t>& position, size_t begin, size_t end,
                         int64_t live_before, size_t max_sets);

}  // namespace cleave::plan
