#include "plan/window_order.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <queue>
#include <tuple>
#include <unordered_map>

namespace cleave::plan {
namespace {

struct Item {
  TaskId task = 0;
  uint64_t operands = 0;  // in the window
  int64_t during = 0;     // bytes + workspace
  int64_t leaves = 0;     // bytes that stay after the task, if it has readers or is kept
  std::vector<std::pair<uint64_t, int64_t>> frees;  // when all these have run, these bytes
};

struct Reached {
  int64_t peak = 0, live = 0;
  uint8_t by = 0;
  bool done = false;
};

class Search {
 public:
  Search(const TaskGraph& graph, const std::vector<TaskId>& order,
         const std::vector<uint32_t>& position, size_t begin, size_t end)
      : count_(end - begin) {
    for (size_t i = begin; i < end; ++i) add_item(graph, order[i], position, begin, end);
  }

  // The peak if the tasks run in the order of their numbers.
  int64_t peak_as_is(int64_t live) const {
    int64_t peak = 0;
    uint64_t set = 0;
    for (size_t i = 0; i < count_; ++i) {
      peak = std::max(peak, live + items_[i].during);
      live = after(set, live, i);
      set |= bit(i);
    }
    return peak;
  }

  // Searches for a peak below `bound`.
  WindowOrder run(int64_t live, int64_t bound, size_t max_sets) {
    const uint64_t all = count_ == 64 ? ~uint64_t{0} : bit(count_) - 1;
    reached_[0] = {0, live, 0, false};
    queue_.emplace(0, 64, 0);
    WindowOrder result;
    while (!queue_.empty()) {
      const uint64_t set = std::get<2>(queue_.top());
      queue_.pop();
      Reached& here = reached_[set];
      if (here.done) continue;
      here.done = true;
      if (set == all) {
        result.end = WindowEnd::improved;
        result.peak = here.peak;
        result.sets = reached_.size();
        return result;
      }
      if (reached_.size() > max_sets) {
        result.sets = reached_.size();
        return result;
      }
      expand(set, here, bound);
    }
    result.end = WindowEnd::optimal;
    result.peak = bound;
    result.sets = reached_.size();
    return result;
  }

  std::vector<TaskId> path() const {
    std::vector<TaskId> out;
    uint64_t set = count_ == 64 ? ~uint64_t{0} : bit(count_) - 1;
    while (set != 0) {
      const uint8_t i = reached_.at(set).by;
      out.push_back(items_[i].task);
      set &= ~bit(i);
    }
    std::reverse(out.begin(), out.end());
    return out;
  }

 private:
  static uint64_t bit(size_t i) { return uint64_t{1} << i; }

  void add_item(const TaskGraph& graph, TaskId v, const std::vector<uint32_t>& position,
                size_t begin, size_t end) {
    // The readers of x inside the window; `escapes`: x also lives on after the window.
    const auto readers = [&](ValueId x, bool& escapes) {
      uint64_t set = 0;
      escapes = graph.values[x].kept;
      for (TaskId u : graph.users(x)) {
        if (position[u] >= end) escapes = true;
        if (position[u] >= begin && position[u] < end) set |= bit(position[u] - begin);
      }
      return set;
    };
    Item item;
    item.task = v;
    item.during = graph[v].bytes + graph[v].workspace;
    bool escapes = false;
    for (const ValueId x : graph.made_by(v))
      item.leaves += readers(x, escapes) != 0 || escapes ? graph.values[x].bytes : 0;
    for (TaskId u : graph.before(v))
      if (position[u] >= begin) item.operands |= bit(position[u] - begin);
    for (const ValueId x : graph.operands(v)) {
      const uint64_t set = readers(x, escapes);
      const int64_t bytes = graph.values[x].bytes;
      if (!escapes && bytes > 0) item.frees.emplace_back(set, bytes);
    }
    items_.push_back(std::move(item));
  }

  // Bytes live after task i has run on top of `set`.
  int64_t after(uint64_t set, int64_t live, size_t i) const {
    live += items_[i].leaves;
    set |= bit(i);
    for (const auto& [readers, bytes] : items_[i].frees)
      if ((readers & ~set) == 0) live -= bytes;
    return live;
  }

  void expand(uint64_t set, const Reached here, int64_t bound) {
    for (const bool at_once : {true, false})
      for (size_t i = 0; i < count_; ++i) {
        if ((set & bit(i)) || (items_[i].operands & ~set)) continue;
        const int64_t peak = std::max(here.peak, here.live + items_[i].during);
        if (peak >= bound) continue;
        const int64_t live = after(set, here.live, i);
        if (at_once && (peak > here.peak || live > here.live)) continue;
        reach(set | bit(i), {peak, live, static_cast<uint8_t>(i), false});
        if (at_once) return;
      }
  }

  void reach(uint64_t set, const Reached& next) {
    auto [it, fresh] = reached_.try_emplace(set, next);
    if (!fresh) {
      if (it->second.peak <= next.peak) return;
      it->second = next;
    }
    queue_.emplace(next.peak, 64 - std::popcount(set), set);
  }

  size_t count_;
  std::vector<Item> items_;
  std::unordered_map<uint64_t, Reached> reached_;
  using Entry = std::tuple<int64_t, int, uint64_t>;  // peak, tasks left, set
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

}  // namespace

WindowOrder order_window(const TaskGraph& graph, std::vector<TaskId>& order,
                         std::vector<uint32_t>& position, size_t begin, size_t end,
                         int64_t live_before, size_t max_sets) {
  Search search(graph, order, position, begin, end);
  const int64_t bound = search.peak_as_is(live_before);
  WindowOrder result = search.run(live_before, bound, max_sets);
  if (result.end != WindowEnd::improved) return result;
  const std::vector<TaskId> path = search.path();
  for (size_t i = 0; i < path.size(); ++i) {
    order[begin + i] = path[i];
    position[path[i]] = static_cast<uint32_t>(begin + i);
  }
  return result;
}

}  // namespace cleave::plan
