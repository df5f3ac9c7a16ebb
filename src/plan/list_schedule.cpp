#include "plan/list_schedule.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <limits>
#include <numeric>
#include <queue>
#include <tuple>

namespace cleave::plan {
namespace {

// What each task's step adds to memory, kept up to date as tasks run. A value is freed by its last
// reader: where one reader is left, the xor of those left is that reader.
class Growth {
 public:
  explicit Growth(const TaskGraph& graph)
      : graph_(graph), growth_(graph.size()), left_(graph.size()), readers_xor_(graph.size(), 0) {
    for (TaskId v = 0; v < graph.size(); ++v) {
      const bool leaves = graph[v].kept || !graph.users(v).empty();
      growth_[v] += leaves ? graph[v].bytes : 0;
      left_[v] = static_cast<uint32_t>(graph.users(v).size());
      for (TaskId u : graph.users(v)) readers_xor_[v] ^= u;
      if (left_[v] == 1 && !graph[v].kept) growth_[readers_xor_[v]] -= graph[v].bytes;
    }
  }
  int64_t operator[](TaskId v) const { return growth_[v]; }
  // `changed(u)` for each task whose growth falls.
  template <class Changed>
  void run(TaskId v, const Changed& changed) {
    for (TaskId x : graph_.operands(v)) {
      readers_xor_[x] ^= v;
      if (--left_[x] != 1 || graph_[x].kept) continue;
      growth_[readers_xor_[x]] -= graph_[x].bytes;
      changed(readers_xor_[x]);
    }
  }

 private:
  const TaskGraph& graph_;
  std::vector<int64_t> growth_;
  std::vector<uint32_t> left_;
  std::vector<TaskId> readers_xor_;
};

// The ready tasks by what their step needs, in a tree of least (growth, number).
class ReadyTree {
 public:
  using Key = std::pair<int64_t, TaskId>;
  static constexpr Key none{std::numeric_limits<int64_t>::max(), UINT32_MAX};

  explicit ReadyTree(const TaskGraph& graph)
      : rank_(graph.size()), need_(graph.size()), leaves_(std::bit_ceil(graph.size() + 1)) {
    std::vector<TaskId> by_need(graph.size());
    std::iota(by_need.begin(), by_need.end(), TaskId{0});
    const auto need = [&](TaskId v) { return graph[v].bytes + graph[v].workspace; };
    std::sort(by_need.begin(), by_need.end(),
              [&](TaskId a, TaskId b) { return std::pair(need(a), a) < std::pair(need(b), b); });
    for (size_t r = 0; r < by_need.size(); ++r) {
      rank_[by_need[r]] = r;
      need_[r] = need(by_need[r]);
    }
    tree_.assign(2 * leaves_, none);
  }
  void set(TaskId v, Key key) {
    size_t i = leaves_ + rank_[v];
    for (tree_[i] = key; i > 1; i /= 2) {
      const Key least = std::min(tree_[i], tree_[i ^ 1]);
      if (tree_[i / 2] == least) return;
      tree_[i / 2] = least;
    }
  }
  // The least key among tasks that need at most this; else among those that need the least.
  TaskId best(int64_t room) const {
    if (const TaskId v = best(); need_[rank_[v]] <= room) return v;
    const size_t end = ranks_up_to(room);
    if (const Key key = least(0, end); key != none) return key.second;
    const size_t first = first_ready();
    return least(first, ranks_up_to(need_[first])).second;
  }
  TaskId best() const { return tree_[1].second; }

 private:
  size_t ranks_up_to(int64_t need) const {
    return static_cast<size_t>(std::upper_bound(need_.begin(), need_.end(), need) - need_.begin());
  }
  size_t first_ready() const {
    size_t i = 1;
    while (i < leaves_) i = tree_[2 * i] != none ? 2 * i : 2 * i + 1;
    return i - leaves_;
  }
  Key least(size_t begin, size_t end) const {
    Key key = none;
    for (begin += leaves_, end += leaves_; begin < end; begin /= 2, end /= 2) {
      if (begin & 1) key = std::min(key, tree_[begin++]);
      if (end & 1) key = std::min(key, tree_[--end]);
    }
    return key;
  }

  std::vector<size_t> rank_;
  std::vector<int64_t> need_;  // by rank
  size_t leaves_;
  std::vector<Key> tree_;
};

std::vector<TaskId> schedule_by_tree(const TaskGraph& graph, bool by_peak) {
  Growth growth(graph);
  ReadyTree ready(graph);
  std::vector<uint32_t> open(graph.size());
  for (TaskId v = 0; v < graph.size(); ++v) {
    open[v] = static_cast<uint32_t>(graph.operands(v).size());
    if (open[v] == 0) ready.set(v, {growth[v], v});
  }
  std::vector<TaskId> order;
  order.reserve(graph.size());
  int64_t live = 0, peak = 0;
  while (order.size() < graph.size()) {
    const TaskId v = by_peak ? ready.best(peak - live) : ready.best();
    ready.set(v, ReadyTree::none);
    order.push_back(v);
    peak = std::max(peak, live + graph[v].bytes + graph[v].workspace);
    live += growth[v];
    growth.run(v, [&](TaskId u) {
      if (open[u] == 0) ready.set(u, {growth[u], u});
    });
    for (TaskId u : graph.users(v))
      if (--open[u] == 0) ready.set(u, {growth[u], u});
  }
  return order;
}

std::vector<TaskId> schedule_by_age(const TaskGraph& graph, bool newest) {
  std::vector<uint32_t> open(graph.size());
  std::deque<TaskId> ready;
  for (TaskId v = 0; v < graph.size(); ++v) {
    open[v] = static_cast<uint32_t>(graph.operands(v).size());
    if (open[v] == 0) ready.push_back(v);
  }
  if (newest) std::reverse(ready.begin(), ready.end());
  std::vector<TaskId> order;
  order.reserve(graph.size());
  while (!ready.empty()) {
    const TaskId v = newest ? ready.back() : ready.front();
    newest ? ready.pop_back() : ready.pop_front();
    order.push_back(v);
    for (TaskId u : graph.users(v))
      if (--open[u] == 0) ready.push_back(u);
  }
  return order;
}

}  // namespace

std::vector<TaskId> list_schedule(const TaskGraph& graph, ListKey key) {
  if (key == ListKey::newest || key == ListKey::oldest)
    return schedule_by_age(graph, key == ListKey::newest);
  return schedule_by_tree(graph, key == ListKey::least_peak);
}

std::vector<TaskId> list_schedule_backward(const TaskGraph& graph) {
  std::vector<int64_t> growth(graph.size());
  std::vector<uint32_t> open(graph.size());
  std::vector<bool> live(graph.size()), placed(graph.size());
  using Entry = std::tuple<int64_t, TaskId>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  const auto push = [&](TaskId v) {
    ready.emplace(growth[v], static_cast<TaskId>(graph.size() - 1) - v);
  };
  for (TaskId v = 0; v < graph.size(); ++v) {
    for (TaskId x : graph.operands(v)) growth[v] += graph[x].kept ? 0 : graph[x].bytes;
    if (graph[v].kept || !graph.users(v).empty()) growth[v] -= graph[v].bytes;
    open[v] = static_cast<uint32_t>(graph.users(v).size());
    live[v] = graph[v].kept;
    if (open[v] == 0) push(v);
  }
  std::vector<TaskId> order;
  order.reserve(graph.size());
  while (!ready.empty()) {
    const auto [key, number] = ready.top();
    ready.pop();
    const TaskId v = static_cast<TaskId>(graph.size() - 1) - number;
    if (placed[v] || key != growth[v]) continue;  // an older entry
    placed[v] = true;
    order.push_back(v);
    for (TaskId x : graph.operands(v)) {
      if (!live[x]) {
        live[x] = true;
        for (TaskId u : graph.users(x)) {
          growth[u] -= graph[x].bytes;
          if (open[u] == 0 && !placed[u] && u != v) push(u);
        }
      }
      if (--open[x] == 0) push(x);
    }
  }
  std::reverse(order.begin(), order.end());
  return order;
}

}  // namespace cleave::plan
