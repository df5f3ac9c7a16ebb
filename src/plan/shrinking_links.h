// The links of a graph that loses tasks and links, and gains some, until little is left: what
// series_parallel.h works on.
//
//   behind[a]   . b . c      a link stands in both rows, or, once it is gone, in one at most: it is
//   before[b]   a . d        taken out of the shorter row at once, and of the longer one when that
//                            is next looked through; so a task with a million readers costs no more
//
// `place` of a task is a hash of its neighbours on both sides: equal for tasks between the same.
#pragma once
#include <algorithm>
#include <vector>

#include "plan/task_graph.h"

namespace cleave::plan {

class ShrinkingLinks {
 public:
  struct Place {
    uint64_t before = 0, behind = 0;
    bool operator==(const Place&) const = default;
  };

  explicit ShrinkingLinks(const TaskGraph& graph)
      : before_(graph.size()), behind_(graph.size()), place_(graph.size()) {
    for (TaskId v = 0; v < graph.size(); ++v) {
      const auto operands = graph.operands(v), users = graph.users(v);
      before_[v].list.assign(operands.begin(), operands.end());
      behind_[v].list.assign(users.begin(), users.end());
      before_[v].count = operands.size();
      behind_[v].count = users.size();
      for (TaskId x : operands) place_[v].before += mixed(x);
      for (TaskId u : users) place_[v].behind += mixed(u);
    }
  }

  size_t before_count(TaskId v) const { return before_[v].count; }
  size_t behind_count(TaskId v) const { return behind_[v].count; }
  const Place& place(TaskId v) const { return place_[v]; }
  // Without those that are gone; valid until the next change.
  const std::vector<TaskId>& before(TaskId v) { return cleaned(v, before_, behind_); }
  const std::vector<TaskId>& behind(TaskId v) { return cleaned(v, behind_, before_); }

  // False where nothing changes.
  bool link(TaskId from, TaskId to) {
    if (linked(from, to)) return false;
    behind_[from].list.push_back(to);
    before_[to].list.push_back(from);
    count(from, to, 1);
    return true;
  }
  bool unlink(TaskId from, TaskId to) {
    if (!linked(from, to)) return false;
    const bool from_is_longer = behind_[from].list.size() > before_[to].list.size();
    take_out(behind_[from], to, from_is_longer);
    take_out(before_[to], from, !from_is_longer);
    count(from, to, -1);
    return true;
  }

 private:
  static constexpr size_t short_row = 32;

  struct Row {
    std::vector<TaskId> list;
    size_t count = 0;
    bool stale = false;  // some of the list may be gone, or be there twice
  };

  static uint64_t mixed(uint64_t v) {
    v = (v + 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
    v = (v ^ (v >> 29)) * 0x94d049bb133111ebu;
    return v ^ (v >> 32);
  }
  static bool has(const Row& row, TaskId v) {
    return std::find(row.list.begin(), row.list.end(), v) != row.list.end();
  }
  bool linked(TaskId from, TaskId to) const {
    const Row &a = behind_[from], &b = before_[to];
    const bool a_first = a.list.size() <= b.list.size();
    if (!has(a_first ? a : b, a_first ? to : from)) return false;
    return !(a_first ? a : b).stale || has(a_first ? b : a, a_first ? from : to);
  }
  static void take_out(Row& row, TaskId v, bool longer) {
    if (longer && row.list.size() > short_row) {
      row.stale = true;
    } else {
      std::erase(row.list, v);
    }
  }
  void count(TaskId from, TaskId to, int sign) {
    const auto n = static_cast<uint64_t>(static_cast<int64_t>(sign));
    behind_[from].count += n;
    before_[to].count += n;
    place_[from].behind += n * mixed(to);
    place_[to].before += n * mixed(from);
  }
  static const std::vector<TaskId>& cleaned(TaskId v, std::vector<Row>& rows,
                                            const std::vector<Row>& others) {
    Row& row = rows[v];
    if (row.stale) {
      std::erase_if(row.list, [&](TaskId u) { return !has(others[u], v); });
      row.stale = false;
    }
    std::sort(row.list.begin(), row.list.end());
    row.list.erase(std::unique(row.list.begin(), row.list.end()), row.list.end());
    return row.list;
  }

  std::vector<Row> before_, behind_;
  std::vector<Place> place_;
};

}  // namespace cleave::plan
