// A graph of tasks, each producing one value or several that its users read: the input for planning
// orders and recomputations. Integers only; bytes and time are in the caller's units.
//
//   memory at a position = workspace of the task that runs + bytes of every live value
//
//   position    0   1   2   3   4      a sequence may run a task more than once; a reader takes the
//   runs        a   b   c   a'  d      newest run's value, and a value lives from the run that
//   a           #-------#              makes it to its last reader, both included (its own run
//   b (reads a)     #---------------#  if it has no reader)
//   a'                      #-------#  the newest copy of a `kept` value lives to the end
//
// A task that makes several values runs once for all of them, and each lives as long as it is read
// itself. Where a value is `optional`, a run that nobody reads it from leaves it out:
//
//   position    0   1   2   3          m makes x (kept) and y; n reads x, o reads y
//   runs        m   n   m'  o
//   x           #---#   #------#       the newest run's is the one that is kept
//   y                   #---#          m leaves it out: o reads it from m'
//
// Values are numbered task by task. Where all tasks make one, a value has its task's number.
#pragma once
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"

namespace cleave::plan {

struct Task {
  int64_t bytes = 0;  // of the value it makes, of several together
  // Bytes that it needs while it runs; below 0, at least -bytes, where its value is made over an
  // operand.
  int64_t workspace = 0;
  int64_t time = 0;
  bool kept = false;  // the value lives to the end of the sequence; of several: one does
  bool once = false;  // it must not run again: its value is kept as long as it is read
};

using TaskId = uint32_t;
using ValueId = uint32_t;
using Link = std::pair<ValueId, TaskId>;  // the second reads the first

struct Value {
  TaskId maker = 0;
  bool kept = false;
  bool optional = false;  // a run that nobody reads it from leaves it out
  int64_t bytes = 0;      // 0 of an optional one that nothing reads at all
};

// Rows of numbers, in one array.
struct Rows {
  std::vector<size_t> begin{0};  // one more than rows
  std::vector<uint32_t> to;

  std::span<const uint32_t> operator[](size_t row) const {
    return {to.data() + begin[row], to.data() + begin[row + 1]};
  }
};

struct TaskGraph {
  std::vector<Task> tasks;
  std::vector<Value> values;
  Rows reads, readers;  // values by task, tasks by value: each link once, in ascending order
  // Tasks by task, and each one's first value, one more than tasks; empty where all make one value.
  Rows earlier, later;
  std::vector<ValueId> first;

  size_t size() const { return tasks.size(); }
  bool one_each() const { return first.empty(); }
  const Task& operator[](TaskId v) const { return tasks[v]; }
  std::span<const ValueId> operands(TaskId v) const { return reads[v]; }
  std::span<const TaskId> users(ValueId x) const { return readers[x]; }
  TaskId maker(ValueId x) const { return one_each() ? x : values[x].maker; }
  ValueId first_value(TaskId v) const { return one_each() ? v : first[v]; }
  // The values that the task makes.
  auto made_by(TaskId v) const {
    return std::views::iota(first_value(v), one_each() ? v + 1 : first[v + 1]);
  }
  // The tasks that make its operands, and those that read one of its values.
  std::span<const TaskId> before(TaskId v) const { return one_each() ? reads[v] : earlier[v]; }
  std::span<const TaskId> after(TaskId v) const { return one_each() ? readers[v] : later[v]; }
};

// Sums of bytes and of time up to this are exact in doubles.
constexpr int64_t largest_sum = int64_t{1} << 50;

// Links may repeat. Errors (user): a negative size or time, a link to a task that doesn't exist, a
// cycle (its tasks by number), sums of bytes or time above largest_sum. O(n + links).
Result<TaskGraph> make_task_graph(std::vector<Task> tasks, std::span<const Link> links);

// Of tasks that make several values: `bytes` and `kept` of a task are those of its values. Errors
// (user) also: values that don't stand task by task, a task without one.
Result<TaskGraph> make_task_graph(std::vector<Task> tasks, std::vector<Value> values,
                                  std::span<const Link> links);

// Returns the tasks of one cycle among links of tasks, each before its reader, the smallest number
// first; empty if there is none.
std::vector<TaskId> find_cycle(size_t tasks, std::span<const Link> links);

// Returns an order that respects the links, with the smallest number first at each choice.
std::vector<TaskId> first_order(const TaskGraph& graph);

}  // namespace cleave::plan
