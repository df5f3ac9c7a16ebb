#include "plan/series_parallel.h"

#include <algorithm>
#include <queue>

#include "plan/place_table.h"
#include "plan/segment_chain.h"
#include "plan/shrinking_links.h"

namespace cleave::plan {
namespace {

constexpr size_t max_visits = 64;    // limit of the search for a path between two readers
constexpr size_t max_shortcuts = 8;  // links checked beside the paths through one task

// Finds for each value the reader that frees it: the one that runs after all others.
class Releases {
 public:
  explicit Releases(const TaskGraph& graph)
      : graph_(graph), level_(graph.size(), 0), freed_(graph.size(), 0),
        reader_of_(graph.size(), UINT32_MAX), visited_by_(graph.size(), UINT32_MAX) {
    find_levels();
    for (ValueId x = 0; x < graph.values.size(); ++x) {
      const Value& value = graph.values[x];
      if (value.bytes == 0 || value.kept) continue;
      freed_[graph.users(x).empty() ? graph.maker(x) : last_reader(x)] += value.bytes;
    }
  }
  int64_t freed(TaskId v) const { return freed_[v]; }
  bool certain() const { return certain_; }

 private:
  void find_levels() {
    std::vector<uint32_t> open(graph_.size());
    std::vector<TaskId> ready;
    for (TaskId v = 0; v < graph_.size(); ++v) {
      open[v] = static_cast<uint32_t>(graph_.before(v).size());
      if (open[v] == 0) ready.push_back(v);
    }
    while (!ready.empty()) {
      const TaskId v = ready.back();
      ready.pop_back();
      for (TaskId u : graph_.after(v)) {
        level_[u] = std::max(level_[u], level_[v] + 1);
        if (--open[u] == 0) ready.push_back(u);
      }
    }
  }

  TaskId last_reader(ValueId x) {
    TaskId last = graph_.users(x)[0];
    uint32_t lowest = level_[last];
    for (TaskId u : graph_.users(x)) {
      if (level_[u] > level_[last]) last = u;
      lowest = std::min(lowest, level_[u]);
    }
    if (graph_.users(x).size() > 1 && certain_) certain_ = reaches_all(x, last, lowest);
    return last;
  }

  // Whether `last` runs after all other readers of x.
  bool reaches_all(ValueId x, TaskId last, uint32_t lowest) {
    size_t left = graph_.users(x).size();
    reader_of_[last] = x;
    for (TaskId u : graph_.users(x)) reader_of_[u] = x;
    visited_.assign(1, last);
    for (size_t i = 0; i < visited_.size() && visited_.size() < max_visits; ++i) {
      if (reader_of_[visited_[i]] == x && --left == 0) return true;
      for (TaskId u : graph_.before(visited_[i])) {
        if (level_[u] < lowest || visited_by_[u] == x) continue;
        visited_by_[u] = x;
        visited_.push_back(u);
      }
    }
    return false;
  }

  const TaskGraph& graph_;
  std::vector<uint32_t> level_;
  std::vector<int64_t> freed_;
  std::vector<ValueId> reader_of_, visited_by_;  // by the last value that searched
  std::vector<TaskId> visited_;
  bool certain_ = true;
};

class Merger {
 public:
  explicit Merger(const TaskGraph& graph)
      : graph_(graph), links_(graph), chain_(graph.size()), next_(graph.size()),
        twin_(graph.size()), gone_(graph.size(), false), waiting_(graph.size(), false),
        left_(graph.size()) {
    const Releases releases(graph);
    certain_ = releases.certain();
    for (TaskId v = 0; v < graph.size(); ++v) {
      const Task& t = graph[v];
      chain_[v].append({t.bytes + t.workspace, t.bytes - releases.freed(v), v, v}, next_);
    }
  }

  MergedOrder run() {
    for (TaskId v = 0; v < graph_.size(); ++v) touch(v);
    while (!work_.empty()) {
      const TaskId v = work_.back();
      work_.pop_back();
      waiting_[v] = false;
      if (!gone_[v]) reduce(v);
    }
    return {order(), certain_ && left_ <= 1};
  }

 private:
  void touch(TaskId v) {
    if (waiting_[v]) return;
    waiting_[v] = true;
    work_.push_back(v);
  }
  void unlink(TaskId from, TaskId to) {
    if (!links_.unlink(from, to)) return;
    touch(from);
    touch(to);
  }

  void reduce(TaskId v) {
    // A link parallel to a path through v is redundant.
    const bool one_before = links_.before_count(v) == 1, one_after = links_.after_count(v) == 1;
    if (one_before && links_.after_count(v) <= max_shortcuts)
      for (const TaskId u = links_.before(v)[0]; TaskId w : links_.after(v)) unlink(u, w);
    if (one_after && links_.before_count(v) <= max_shortcuts)
      for (const TaskId w = links_.after(v)[0]; TaskId u : links_.before(v)) unlink(u, w);
    if (one_after)
      if (const TaskId w = links_.after(v)[0]; links_.before_count(w) == 1) return series(v, w);
    if (one_before)
      if (const TaskId u = links_.before(v)[0]; links_.after_count(u) == 1) return series(u, v);
    const ShrinkingLinks::Place place = links_.place(v);
    const uint64_t key = place.before * 0x9e3779b97f4a7c15u ^ place.after;
    TaskId& twin = twin_.at(key, v);
    if (twin == v) return;
    if (gone_[twin] || links_.place(twin) != place)
      twin = v;
    else
      parallel(twin, v);
  }

  static std::vector<TaskId> copy_of(std::span<const TaskId> row) {
    return {row.begin(), row.end()};
  }

  // w joins v: v is the only task before w, and w the only one after v.
  void series(TaskId v, TaskId w) {
    chain_[v].join(std::move(chain_[w]), next_);
    const std::vector<TaskId> targets = copy_of(links_.after(w));
    unlink(v, w);
    for (TaskId u : targets) {
      unlink(w, u);
      links_.link(v, u);
      touch(u);
    }
    remove(w);
    touch(v);
  }
  void parallel(TaskId v, TaskId w) {
    chain_[v].merge(std::move(chain_[w]));
    const std::vector<TaskId> before = copy_of(links_.before(w)), after = copy_of(links_.after(w));
    for (TaskId u : before) unlink(u, w);
    for (TaskId u : after) unlink(w, u);
    remove(w);
    touch(v);
  }
  void remove(TaskId w) {
    gone_[w] = true;
    --left_;
  }

  // Orders the remaining chains: always runs the best next segment of those that can continue.
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
    std::vector<uint32_t> open(graph_.size(), 0);
    std::vector<Segment> segments;  // of all chains, concatenated
    std::vector<size_t> at(graph_.size()), end(graph_.size());
    const auto start = [&](TaskId v) {
      at[v] = segments.size();
      chain_[v].for_each([&](const Segment& s) { segments.push_back(s); });
      end[v] = segments.size();
      heads.push({segments[at[v]], v});
    };
    for (TaskId v = 0; v < graph_.size(); ++v)
      if (!gone_[v] && (open[v] = static_cast<uint32_t>(links_.before_count(v))) == 0) start(v);
    std::vector<TaskId> tasks;
    tasks.reserve(graph_.size());
    while (!heads.empty()) {
      const auto [segment, v] = heads.top();
      heads.pop();
      for (TaskId t = segment.first;; t = next_[t]) {
        tasks.push_back(t);
        if (t == segment.last) break;
      }
      if (++at[v] != end[v]) {
        heads.push({segments[at[v]], v});
      } else {
        for (TaskId u : links_.after(v))
          if (--open[u] == 0) start(u);
      }
    }
    return tasks;
  }

  const TaskGraph& graph_;
  ShrinkingLinks links_;
  std::vector<SegmentChain> chain_;
  std::vector<TaskId> next_;
  PlaceTable twin_;
  std::vector<bool> gone_, waiting_;
  std::vector<TaskId> work_;
  size_t left_;
  bool certain_ = true;
};

}  // namespace

MergedOrder merge_series_parallel(const TaskGraph& graph) { return Merger(graph).run(); }

}  // namespace cleave::plan
