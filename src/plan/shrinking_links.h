// The links of a graph that loses tasks and links, and gains some, until little is left: the data
// structure of series_parallel.h.
//
//   after[a]   . b . c      a link is in both rows, or, once it is removed, in one at most: it is
//   before[b]   a . d        removed from the shorter row at once, from the longer one when that is
//                            next scanned; so a task with a million readers costs no more
//
// `place` of a task is a hash of its neighbours on both sides: equal for tasks with the same ones.
#pragma once
#include <algorithm>
#include <vector>

#include "plan/task_graph.h"

namespace cleave::plan {

class ShrinkingLinks {
 public:
  struct Place {
    uint64_t before = 0, after = 0;
    bool operator==(const Place&) const = default;
  };

  explicit ShrinkingLinks(const TaskGraph& graph) : place_(graph.size()) {
    before_.assign(graph.one_each() ? graph.reads : graph.earlier);
    after_.assign(graph.one_each() ? graph.readers : graph.later);
    for (TaskId v = 0; v < graph.size(); ++v) {
      for (TaskId x : graph.before(v)) place_[v].before += mixed(x);
      for (TaskId u : graph.after(v)) place_[v].after += mixed(u);
    }
  }

  size_t before_count(TaskId v) const { return before_[v].count; }
  size_t after_count(TaskId v) const { return after_[v].count; }
  const Place& place(TaskId v) const { return place_[v]; }
  // Excludes removed ones; valid until the next change.
  std::span<const TaskId> before(TaskId v) { return cleaned(v, before_, after_); }
  std::span<const TaskId> after(TaskId v) { return cleaned(v, after_, before_); }

  // Returns false if nothing changes.
  bool link(TaskId from, TaskId to) {
    if (linked(from, to)) return false;
    after_.push_back(from, to);
    before_.push_back(to, from);
    count(from, to, 1);
    return true;
  }
  bool unlink(TaskId from, TaskId to) {
    if (!linked(from, to)) return false;
    const bool from_is_longer = after_[from].size > before_[to].size;
    after_.take_out(from, to, from_is_longer);
    before_.take_out(to, from, !from_is_longer);
    count(from, to, -1);
    return true;
  }

 private:
  static constexpr size_t short_row = 32;

  // All rows are in one array; a row that outgrows its place moves to the end.
  struct Row {
    size_t begin = 0;
    uint32_t size = 0, room = 0;
    uint32_t count = 0;
    bool stale = false;  // some of the row may be removed or duplicated
  };
  class Rows {
   public:
    void assign(const plan::Rows& links) {
      words_ = links.to;
      rows_.resize(links.begin.size() - 1);
      for (size_t v = 0; v < rows_.size(); ++v) {
        const auto size = static_cast<uint32_t>(links[v].size());
        rows_[v] = {links.begin[v], size, size, size, false};
      }
    }
    Row& operator[](TaskId v) { return rows_[v]; }
    const Row& operator[](TaskId v) const { return rows_[v]; }
    std::span<TaskId> list(TaskId v) { return {words_.data() + rows_[v].begin, rows_[v].size}; }
    std::span<const TaskId> list(TaskId v) const {
      return {words_.data() + rows_[v].begin, rows_[v].size};
    }
    bool has(TaskId v, TaskId u) const {
      const auto row = list(v);
      return std::find(row.begin(), row.end(), u) != row.end();
    }
    void push_back(TaskId v, TaskId u) {
      Row& row = rows_[v];
      if (row.size == row.room) {
        const size_t end = words_.size();
        row.room = std::max(4u, 2 * row.room);
        words_.resize(end + row.room);
        std::copy_n(words_.begin() + static_cast<std::ptrdiff_t>(row.begin), row.size,
                    words_.begin() + static_cast<std::ptrdiff_t>(end));
        row.begin = end;
      }
      words_[row.begin + row.size++] = u;
    }
    void take_out(TaskId v, TaskId u, bool longer) {
      Row& row = rows_[v];
      if (longer && row.size > short_row) {
        row.stale = true;
      } else {
        const auto words = list(v);
        row.size =
            static_cast<uint32_t>(std::remove(words.begin(), words.end(), u) - words.begin());
      }
    }

   private:
    std::vector<Row> rows_;
    std::vector<TaskId> words_;
  };

  static uint64_t mixed(uint64_t v) {
    v = (v + 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
    v = (v ^ (v >> 29)) * 0x94d049bb133111ebu;
    return v ^ (v >> 32);
  }
  bool linked(TaskId from, TaskId to) const {
    const bool a_first = after_[from].size <= before_[to].size;
    const Row& first = a_first ? after_[from] : before_[to];
    if (!(a_first ? after_.has(from, to) : before_.has(to, from))) return false;
    return !first.stale || (a_first ? before_.has(to, from) : after_.has(from, to));
  }
  void count(TaskId from, TaskId to, int sign) {
    const auto n = static_cast<uint64_t>(static_cast<int64_t>(sign));
    after_[from].count += static_cast<uint32_t>(n);
    before_[to].count += static_cast<uint32_t>(n);
    place_[from].after += n * mixed(to);
    place_[to].before += n * mixed(from);
  }
  static std::span<const TaskId> cleaned(TaskId v, Rows& rows, const Rows& others) {
    Row& row = rows[v];
    const auto list = rows.list(v);
    auto end = list.end();
    if (row.stale)
      end = std::remove_if(list.begin(), end, [&](TaskId u) { return !others.has(u, v); });
    row.stale = false;
    std::sort(list.begin(), end);
    row.size = static_cast<uint32_t>(std::unique(list.begin(), end) - list.begin());
    return rows.list(v);
  }

  Rows before_, after_;
  std::vector<Place> place_;
};

}  // namespace cleave::plan
