// Decides what to recompute after one moment of a sequence, at a price for each byte kept: a
// minimum cut.
//
//   At the moment when task q first runs, some tasks have run (`before`) and some have not
//   (`after`). A value that a task after it reads is either in memory at the moment, for
//   price * bytes, or its task runs again after it, for its time (0 if it may not have run yet; not
//   allowed for a `once` task that has run), and then its own operands are needed. Operands of q
//   and its value are in memory anyway, so they cost nothing; not so its optional values, which
//   this run may leave out.
//
//   r_u: task u runs after the moment    r_u -> a_x for each operand x of u
//   a_x: value x is needed after it      cost = sum r_u time_u
//                                               + price * sum (a_x and not r_(maker of x)) bytes_x
//
// It is the cut of a joint graph (remat/cut_graph.h), at a moment of any sequence. Capacities are
// scaled integers, so each answer is exact for the price in its units.
#pragma once
#include <optional>

#include "plan/task_graph.h"

namespace cleave::plan {

enum class Side : uint8_t { before, after, open };  // open: either, depending on the order

struct MomentCut {
  int64_t time = 0;   // of the tasks that run again
  int64_t bytes = 0;  // kept in memory, without those of q and its operands
  std::vector<TaskId> again;
};

class Moment {
 public:
  // Precondition: side[q] is `before`. O(n + links).
  Moment(const TaskGraph& graph, TaskId q, std::vector<Side> side);

  TaskId task() const { return q_; }
  // Bytes in memory when q runs, whatever is kept: its operands, values and workspace.
  int64_t needed_bytes() const { return needed_bytes_; }
  // The cut that keeps everything that is read, and the one that keeps the fewest bytes.
  const MomentCut& keep_all() const { return keep_all_; }
  const MomentCut& keep_least() const { return keep_least_; }
  // The bytes of all values that may be part of a cut.
  int64_t all_bytes() const { return all_bytes_; }
  // The time of all tasks that may be part of a cut.
  int64_t all_time() const { return all_time_; }
  // The cut with the least time_price * time + bytes_price * bytes; prices are at least 0.
  MomentCut at_price(int64_t time_price, int64_t bytes_price) const;
  // The cut that runs those of `again` again that are needed then, and keeps the rest.
  // O(n + links).
  MomentCut running_again(std::span<const TaskId> again) const;
  // Returns nothing if that visits more arcs than `work`; subtracts the number visited from it.
  std::optional<MomentCut> at_price(int64_t time_price, int64_t bytes_price, int64_t& work) const;
  // The number of arcs of the network.
  int64_t size() const { return arcs_; }

 private:
  template <class Cap>
  std::optional<MomentCut> solve(int64_t time_price, int64_t bytes_price, int64_t& work) const;
  bool stays(TaskId u) const { return side_[u] == Side::before && graph_[u].once; }
  int64_t time_again(TaskId u) const {
    return side_[u] == Side::before && !graph_[u].once ? graph_[u].time : 0;
  }

  void want(ValueId x);
  void add_sizes();

  const TaskGraph& graph_;
  TaskId q_;
  std::vector<Side> side_;
  std::vector<bool> free_;        // by value: q's and its operands
  std::vector<TaskId> wanted_;    // read after the moment, and their possible recompute operands
  std::vector<uint32_t> index_;   // in wanted_, by task
  std::vector<bool> is_wanted_;   // by value
  std::vector<ValueId> read_;     // that tasks after the moment read, or that are kept
  std::vector<int32_t> node_of_;  // of the network, by wanted_; those of its values follow
  int32_t nodes_ = 0;
  int64_t needed_bytes_ = 0, all_bytes_ = 0, all_time_ = 0, arcs_ = 0;
  MomentCut keep_all_, keep_least_;
};

}  // namespace cleave::plan
