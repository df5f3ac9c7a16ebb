#include "plan/series_parallel.h"

#include <algorithm>
#include <map>
#include <queue>
#include <unordered_set>

#include "plan/segment_chain.h"

namespace cleave::plan {
namespace {

constexpr size_t most_visits = 64;    // of a look for a path between two readers
constexpr size_t most_shortcuts = 8;  // links looked at beside the paths through one task

uint64_t mixed(uint64_t v) {
  v = (v + 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
  v = (v ^ (v >> 29)) * 0x94d049bb133111ebu;
  return v ^ (v >> 32);
}

// Finds for each value the reader that frees it: the one behind all others.
class Releases {
 public:
  explicit Releases(const TaskGraph& graph)
      : graph_(graph), level_(graph.size(), 0), freed_(graph.size(), 0) {
    for (TaskId v : first_order(graph))
      for (TaskId u : graph.users(v)) level_[u] = std::max(level_[u], level_[v] + 1);
    for (TaskId v = 0; v < graph.size(); ++v) {
      if (graph[v].bytes == 0 || graph[v].kept) continue;
      freed_[graph.users(v).empty() ? v : last_reader(v)] += graph[v].bytes;
    }
  }
  int64_t freed(TaskId v) const { return freed_[v]; }
  bool certain() const { return certain_; }

 private:
  TaskId last_reader(TaskId v) {
    TaskId last = graph_.users(v)[0];
    uint32_t lowest = level_[last];
    for (TaskId u : graph_.users(v)) {
      if (level_[u] > level_[last]) last = u;
      lowest = std::min(lowest, level_[u]);
    }
    if (graph_.users(v).size() > 1 && certain_) certain_ = reaches_all(v, last, lowest);
    return last;
  }

  // Whether `last` lies behind all other readers of v.
  bool reaches_all(TaskId v, TaskId last, uint32_t lowest) const {
    std::vector<TaskId> visited{last};
    for (size_t i = 0; i < visited.size() && visited.size() < most_visits; ++i)
      for (TaskId x : graph_.operands(visited[i]))
        if (level_[x] >= lowest && std::find(visited.begin(), visited.end(), x) == visited.end())
          visited.push_back(x);
    return std::all_of(graph_.users(v).begin(), graph_.users(v).end(), [&](TaskId u) {
      return std::find(visited.begin(), visited.end(), u) != visited.end();
    });
  }

  const TaskGraph& graph_;
  std::vector<uint32_t> level_;
  std::vector<int64_t> freed_;
  bool certain_ = true;
};

class Merger {
 public:
  explicit Merger(const TaskGraph& graph)
      : graph_(graph), chain_(graph.size()), next_(graph.size()), before_(graph.size()),
        behind_(graph.size()), before_count_(graph.size(), 0), behind_count_(graph.size(), 0),
        before_hash_(graph.size(), 0), behind_hash_(graph.size(), 0), gone_(graph.size(), false),
        left_(graph.size()) {
    const Releases releases(graph);
    certain_ = releases.certain();
    edges_.reserve(graph.user.size() * 2);
    for (TaskId v = 0; v < graph.size(); ++v) {
      const Task& t = graph[v];
      chain_[v].append({t.bytes + t.workspace, t.bytes - releases.freed(v), v, v}, next_);
      for (TaskId u : graph.users(v)) link(v, u);
    }
  }

  MergedOrder run() {
    for (TaskId v = 0; v < graph_.size(); ++v) touch(v);
    while (!work_.empty()) {
      const TaskId v = work_.back();
      work_.pop_back();
      if (!gone_[v]) reduce(v);
    }
    return {order(), certain_ && left_ <= 1};
  }

 private:
  static uint64_t key(TaskId from, TaskId to) { return uint64_t{from} << 32 | to; }
  bool linked(TaskId from, TaskId to) const { return edges_.contains(key(from, to)); }
  void touch(TaskId v) { work_.push_back(v); }

  void link(TaskId from, TaskId to) {
    if (!edges_.insert(key(from, to)).second) return;
    behind_[from].push_back(to);
    before_[to].push_back(from);
    ++behind_count_[from];
    ++before_count_[to];
    behind_hash_[from] += mixed(to);
    before_hash_[to] += mixed(from);
  }
  // The lists keep the link until they are looked through.
  void unlink(TaskId from, TaskId to) {
    if (edges_.erase(key(from, to)) == 0) return;
    --behind_count_[from];
    --before_count_[to];
    behind_hash_[from] -= mixed(to);
    before_hash_[to] -= mixed(from);
    touch(from);
    touch(to);
  }
  std::vector<TaskId> behind(TaskId v) {
    std::erase_if(behind_[v], [&](TaskId u) { return !linked(v, u); });
    return cleaned(behind_[v]);
  }
  std::vector<TaskId> before(TaskId v) {
    std::erase_if(before_[v], [&](TaskId u) { return !linked(u, v); });
    return cleaned(before_[v]);
  }
  // A link that went and came back is in the list twice.
  static const std::vector<TaskId>& cleaned(std::vector<TaskId>& list) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    return list;
  }

  void reduce(TaskId v) {
    // A link beside a path through v says nothing.
    const bool one_before = before_count_[v] == 1, one_behind = behind_count_[v] == 1;
    if (one_before && behind_count_[v] <= most_shortcuts)
      for (const TaskId u = before(v)[0]; TaskId w : behind(v)) unlink(u, w);
    if (one_behind && before_count_[v] <= most_shortcuts)
      for (const TaskId w = behind(v)[0]; TaskId u : before(v)) unlink(u, w);
    if (one_behind)
      if (const TaskId w = behind(v)[0]; before_count_[w] == 1) return series(v, w);
    if (one_before)
      if (const TaskId u = before(v)[0]; behind_count_[u] == 1) return series(u, v);
    const std::pair<uint64_t, uint64_t> place{before_hash_[v], behind_hash_[v]};
    const auto [it, fresh] = twin_.try_emplace(place, v);
    if (fresh || it->second == v) return;
    const TaskId other = it->second;
    if (gone_[other] || before_hash_[other] != place.first || behind_hash_[other] != place.second)
      it->second = v;
    else
      parallel(other, v);
  }

  // w, whose only neighbour before is v, whose only one behind is w, joins v.
  void series(TaskId v, TaskId w) {
    chain_[v].join(std::move(chain_[w]), next_);
    const std::vector<TaskId> targets = behind(w);
    unlink(v, w);
    for (TaskId u : targets) {
      unlink(w, u);
      link(v, u);
      touch(u);
    }
    remove(w);
    touch(v);
  }
  void parallel(TaskId v, TaskId w) {
    chain_[v].merge(std::move(chain_[w]));
    for (TaskId u : before(w)) unlink(u, w);
    for (TaskId u : behind(w)) unlink(w, u);
    remove(w);
    touch(v);
  }
  void remove(TaskId w) {
    gone_[w] = true;
    --left_;
  }

  // The chains that are left: of those that may go on, the one with the best next segment does.
  std::vector<TaskId> order() {
    struct Head {
      Segment segment;
      TaskId chain;
    };
    const auto later = [](const Head& a, const Head& b) {
      if (SegmentOrder()(b.segment, a.segment)) return true;
      if (SegmentOrder()(a.segment, b.segment)) return false;
      return a.chain > b.chain;
    };
    std::priority_queue<Head, std::vector<Head>, decltype(later)> heads(later);
    std::vector<size_t> open(graph_.size(), 0);
    std::vector<SegmentChain::Segments::const_iterator> at(graph_.size());
    const auto start = [&](TaskId v) {
      at[v] = chain_[v].segments().begin();
      heads.push({*at[v], v});
    };
    for (TaskId v = 0; v < graph_.size(); ++v)
      if (!gone_[v] && (open[v] = before_count_[v]) == 0) start(v);
    std::vector<TaskId> steps;
    steps.reserve(graph_.size());
    while (!heads.empty()) {
      const auto [segment, v] = heads.top();
      heads.pop();
      for (TaskId t = segment.first;; t = next_[t]) {
        steps.push_back(t);
        if (t == segment.last) break;
      }
      if (++at[v] != chain_[v].segments().end()) {
        heads.push({*at[v], v});
      } else {
        for (TaskId u : behind(v))
          if (--open[u] == 0) start(u);
      }
    }
    return steps;
  }

  const TaskGraph& graph_;
  std::vector<SegmentChain> chain_;
  std::vector<TaskId> next_;
  std::vector<std::vector<TaskId>> before_, behind_;
  std::vector<uint32_t> before_count_, behind_count_;
  std::vector<uint64_t> before_hash_, behind_hash_;  // sums over the neighbours
  std::unordered_set<uint64_t> edges_;
  std::map<std::pair<uint64_t, uint64_t>, TaskId> twin_;
  std::vector<bool> gone_;
  std::vector<TaskId> work_;
  size_t left_;
  bool certain_ = true;
};

}  // namespace

MergedOrder merge_series_parallel(const TaskGraph& graph) { return Merger(graph).run(); }

}  // namespace cleave::plan
