// A graph of tasks, each producing one value that its users read: the input for planning orders and
// recomputations. Integers only; bytes and time are in the caller's units.
//
//   memory at a step = workspace of the task that runs + bytes of every live value
//
//   step        0   1   2   3   4      a sequence may run a task more than once; a reader takes the
//   runs        a   b   c   a'  d      newest copy before it, and a copy lives from the step that
//   a           #-------#              makes it to its last reader, both steps included (its own
//   b (reads a)     #---------------#  step if it has no reader)
//   a'                      #-------#  the newest copy of a `kept` value lives to the end
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"

namespace cleave::plan {

struct Task {
  int64_t bytes = 0;      // of the value it makes
  int64_t workspace = 0;  // bytes that it needs while it runs
  int64_t time = 0;
  bool kept = false;  // the value lives to the end of the sequence
  bool once = false;  // it must not run again: its value is kept as long as it is read
};

using TaskId = uint32_t;
using Link = std::pair<TaskId, TaskId>;  // the second reads the first

struct TaskGraph {
  std::vector<Task> tasks;
  std::vector<size_t> operand_begin, user_begin;  // size() + 1 each
  std::vector<TaskId> operand, user;              // each link once, in ascending order

  size_t size() const { return tasks.size(); }
  const Task& operator[](TaskId v) const { return tasks[v]; }
  std::span<const TaskId> operands(TaskId v) const {
    return {operand.data() + operand_begin[v], operand.data() + operand_begin[v + 1]};
  }
  std::span<const TaskId> users(TaskId v) const {
    return {user.data() + user_begin[v], user.data() + user_begin[v + 1]};
  }
};

// Sums of bytes and of time up to this are exact in doubles.
constexpr int64_t largest_sum = int64_t{1} << 50;

// Links may repeat. Errors (user): a negative size or time, a link to a task that doesn't exist, a
// cycle (its tasks by number), sums of bytes or time above largest_sum. O(n + links).
Result<TaskGraph> make_task_graph(std::vector<Task> tasks, std::span<const Link> links);

// Returns the tasks of one cycle among the links, each before its reader, the smallest number
// first; empty if there is none.
std::vector<TaskId> find_cycle(size_t tasks, std::span<const Link> links);

// Returns an order that respects the links, with the smallest number first at each choice.
std::vector<TaskId> first_order(const TaskGraph& graph);

}  // namespace cleave::plan
