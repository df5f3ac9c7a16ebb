#include "plan/list_schedule.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <limits>
#include <queue>
#include <tuple>

namespace cleave::plan {
namespace {

// The state of a task and of a value while others run, in one struct: reading it is one cache miss.
// The task's part is in its first value's.
struct TaskState {
  int64_t growth = 0;  // what its run adds to memory
  int64_t freed = 0;   // when its last reader has run
  uint32_t left = 0;   // readers that have not run; if one, it is readers_xor
  TaskId readers_xor = 0;
  uint32_t open = 0;  // operands that have not run
  uint32_t rank = 0;
};

// Growth and readiness, updated as tasks run.
class States {
 public:
  explicit States(const TaskGraph& graph) : graph_(graph), state_(graph.values.size()) {
    for (ValueId x = 0; x < graph.values.size(); ++x) {
      TaskState& s = state_[x];
      const Value& value = graph.values[x];
      const auto users = graph.users(x);
      (*this)[graph.maker(x)].growth += value.kept || !users.empty() ? value.bytes : 0;
      s.freed = value.kept ? 0 : value.bytes;
      s.left = static_cast<uint32_t>(users.size());
      for (TaskId u : users) s.readers_xor ^= u;
      if (s.left == 1) (*this)[s.readers_xor].growth -= s.freed;
    }
    for (TaskId v = 0; v < graph.size(); ++v)
      (*this)[v].open = static_cast<uint32_t>(graph.before(v).size());
  }
  TaskState& operator[](TaskId v) { return state_[graph_.first_value(v)]; }
  // Calls `changed(u, state)` for each ready task whose growth falls and each that becomes ready.
  template <class Changed>
  void run(TaskId v, const Changed& changed) {
    for (const ValueId x : graph_.operands(v)) __builtin_prefetch(&state_[x], 1);
    for (TaskId u : graph_.after(v)) __builtin_prefetch(&(*this)[u], 1);
    for (const ValueId x : graph_.operands(v)) {
      TaskState& s = state_[x];
      s.readers_xor ^= v;
      if (--s.left != 1 || s.freed == 0) continue;
      TaskState& last = (*this)[s.readers_xor];
      last.growth -= s.freed;
      if (last.open == 0) changed(s.readers_xor, last);
    }
    for (TaskId u : graph_.after(v))
      if (TaskState& s = (*this)[u]; --s.open == 0) changed(u, s);
  }

 private:
  const TaskGraph& graph_;
  std::vector<TaskState> state_;
};

// The ready tasks sorted by what their run needs, in blocks of neighbours, with the least (growth,
// number) of each block in a tree above them.
//
//   tree     (-4, c)                          ranks: tasks by (need, number)
//            |      |
//   blocks  (-4, c)  (2, f)                   tasks that aren't ready have the key `none`
//   ranks   .. -4 ..  . 3 2 .
class ReadyTree {
 public:
  ReadyTree(const TaskGraph& graph, States& states)
      : key_(padded(graph.size()), not_ready), at_(padded(graph.size())), need_(graph.size()),
        blocks_(std::bit_ceil(padded(graph.size()) / block + 1)), tree_(2 * blocks_, none) {
    std::vector<std::pair<int64_t, TaskId>> by_need(graph.size());
    for (TaskId v = 0; v < graph.size(); ++v) by_need[v] = {graph[v].bytes + graph[v].workspace, v};
    std::sort(by_need.begin(), by_need.end());
    for (uint32_t r = 0; r < by_need.size(); ++r) {
      std::tie(need_[r], at_[r]) = by_need[r];
      states[at_[r]].rank = r;
    }
  }
  void insert(TaskId v, const TaskState& s) {
    const uint32_t r = s.rank;
    key_[r] = s.growth;
    const Key key{s.growth, v};
    if (Key& least = tree_[blocks_ + r / block]; key < least) {
      least = key;
      repair(blocks_ + r / block);
    }
  }
  void erase(TaskId v, const TaskState& s) {
    const size_t r = s.rank, b = r / block;
    key_[r] = not_ready;
    if (tree_[blocks_ + b].second != v) return;
    tree_[blocks_ + b] = min_of(b * block, (b + 1) * block);
    repair(blocks_ + b);
  }
  // The task with the least key among those that need at most `room`; if there is none, among those
  // that need the least.
  TaskId best(int64_t room, States& states) const {
    if (const TaskId v = best(); need_[states[v].rank] <= room) return v;
    const size_t end = ranks_up_to(room);
    if (const Key key = least(0, end); key != none) return key.second;
    const size_t first = first_ready();
    return least(first, ranks_up_to(need_[first])).second;
  }
  TaskId best() const { return tree_[1].second; }

 private:
  using Key = std::pair<int64_t, TaskId>;
  static constexpr size_t block = 16;
  static constexpr int64_t not_ready = std::numeric_limits<int64_t>::max();
  static constexpr Key none{not_ready, UINT32_MAX};

  static size_t padded(size_t n) { return (n + block - 1) / block * block; }

  Key min_of(size_t begin, size_t end) const {
    Key key = none;
    for (size_t r = begin; r < end; ++r)
      if (key_[r] <= key.first && key_[r] != not_ready) key = std::min(key, {key_[r], at_[r]});
    return key;
  }
  void repair(size_t i) {
    for (; i > 1; i /= 2) {
      const Key least = std::min(tree_[i], tree_[i ^ 1]);
      if (tree_[i / 2] == least) return;
      tree_[i / 2] = least;
    }
  }
  size_t ranks_up_to(int64_t need) const {
    return static_cast<size_t>(std::upper_bound(need_.begin(), need_.end(), need) - need_.begin());
  }
  size_t first_ready() const {
    size_t i = 1;
    while (i < blocks_) i = tree_[2 * i] != none ? 2 * i : 2 * i + 1;
    size_t r = (i - blocks_) * block;
    while (key_[r] == not_ready) ++r;
    return r;
  }
  Key least(size_t begin, size_t end) const {
    const size_t first = padded(begin), last = end / block * block;
    if (first >= last) return min_of(begin, end);
    Key key = std::min(min_of(begin, first), min_of(last, end));
    for (size_t l = blocks_ + first / block, r = blocks_ + last / block; l < r; l /= 2, r /= 2) {
      if (l & 1) key = std::min(key, tree_[l++]);
      if (r & 1) key = std::min(key, tree_[--r]);
    }
    return key;
  }

  std::vector<int64_t> key_;  // growth, by rank
  std::vector<TaskId> at_;    // by rank
  std::vector<int64_t> need_;
  size_t blocks_;
  std::vector<Key> tree_;
};

std::vector<TaskId> schedule_by_tree(const TaskGraph& graph, bool by_peak) {
  States states(graph);
  ReadyTree ready(graph, states);
  for (TaskId v = 0; v < graph.size(); ++v)
    if (states[v].open == 0) ready.insert(v, states[v]);
  std::vector<TaskId> order;
  order.reserve(graph.size());
  int64_t live = 0, peak = 0;
  while (order.size() < graph.size()) {
    const TaskId v = by_peak ? ready.best(peak - live, states) : ready.best();
    ready.erase(v, states[v]);
    order.push_back(v);
    peak = std::max(peak, live + graph[v].bytes + graph[v].workspace);
    live += states[v].growth;
    states.run(v, [&](TaskId u, const TaskState& s) { ready.insert(u, s); });
  }
  return order;
}

std::vector<TaskId> schedule_by_age(const TaskGraph& graph, bool newest) {
  std::vector<uint32_t> open(graph.size());
  std::deque<TaskId> ready;
  for (TaskId v = 0; v < graph.size(); ++v) {
    open[v] = static_cast<uint32_t>(graph.before(v).size());
    if (open[v] == 0) ready.push_back(v);
  }
  if (newest) std::reverse(ready.begin(), ready.end());
  std::vector<TaskId> order;
  order.reserve(graph.size());
  while (!ready.empty()) {
    const TaskId v = newest ? ready.back() : ready.front();
    newest ? ready.pop_back() : ready.pop_front();
    order.push_back(v);
    for (TaskId u : graph.after(v))
      if (--open[u] == 0) ready.push_back(u);
  }
  return order;
}

}  // namespace

std::vector<TaskId> list_schedule(const TaskGraph& graph, ListKey key) {
  if (key == ListKey::newest || key == ListKey::oldest)
    return schedule_by_age(graph, key == ListKey::newest);
  return schedule_by_tree(graph, key == ListKey::min_peak);
}

std::vector<TaskId> list_schedule_backward(const TaskGraph& graph) {
  std::vector<int64_t> growth(graph.size());
  std::vector<uint32_t> open(graph.size());
  std::vector<bool> live(graph.values.size()), placed(graph.size());
  using Entry = std::tuple<int64_t, TaskId>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  const auto push = [&](TaskId v) {
    ready.emplace(growth[v], static_cast<TaskId>(graph.size() - 1) - v);
  };
  for (TaskId v = 0; v < graph.size(); ++v) {
    for (const ValueId x : graph.operands(v))
      growth[v] += graph.values[x].kept ? 0 : graph.values[x].bytes;
    for (const ValueId x : graph.made_by(v)) {
      live[x] = graph.values[x].kept;
      if (live[x] || !graph.users(x).empty()) growth[v] -= graph.values[x].bytes;
    }
    open[v] = static_cast<uint32_t>(graph.after(v).size());
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
    for (const ValueId x : graph.operands(v)) {
      if (live[x]) continue;
      live[x] = true;
      for (TaskId u : graph.users(x)) {
        growth[u] -= graph.values[x].bytes;
        if (open[u] == 0 && !placed[u] && u != v) push(u);
      }
    }
    for (TaskId u : graph.before(v))
      if (--open[u] == 0) push(u);
  }
  std::reverse(order.begin(), order.end());
  return order;
}

}  // namespace cleave::plan
