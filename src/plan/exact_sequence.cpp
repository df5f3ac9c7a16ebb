#include "plan/exact_sequence.h"

#include <algorithm>
#include <bit>
#include <queue>
#include <tuple>

#include "plan/simulate.h"

namespace cleave::plan {
namespace {

using Set = uint32_t;  // of tasks

// The cost of a path so far: either only the peak, or time and steps.
struct Cost {
  int64_t first = unreached, second = 0;
  static constexpr int64_t unreached = INT64_MAX;
  friend auto operator<=>(const Cost&, const Cost&) = default;
};

class Search {
 public:
  Search(const TaskGraph& graph, std::span<const TaskId> first_runs)
      : graph_(graph), tasks_(static_cast<TaskId>(graph.size())), operands_(graph.size()),
        first_runs_(first_runs) {
    size_t states = 1;
    for (TaskId v = 0; v < tasks_; ++v) {
      for (const TaskId x : graph.operands(v)) operands_[v] |= bit(x);
      if (graph[v].kept) kept_ |= bit(v);
      states *= 3;
    }
    cost_.assign(states, {});
    by_.assign(states, none);
    set_index_.assign(size_t{1} << tasks_, 0);
    size_t power = 1;
    for (TaskId v = 0; v < tasks_; ++v, power *= 3)
      for (Set s = bit(v); s < bit(v) * 2; ++s) set_index_[s] = set_index_[s - bit(v)] + power;
  }

  // The smallest possible largest step.
  int64_t min_peak() {
    const Cost end = run([&](const Cost& c, TaskId, int64_t bytes) -> std::optional<Cost> {
      return Cost{std::max(c.first, bytes), 0};
    });
    return end.first;
  }

  // The steps of least time within the limit; nothing if there are none.
  std::optional<std::vector<TaskId>> min_time(int64_t limit) {
    const Cost end = run([&](const Cost& c, TaskId v, int64_t bytes) -> std::optional<Cost> {
      if (bytes > limit) return std::nullopt;
      return Cost{c.first + graph_[v].time, c.second + 1};
    });
    if (end.first == Cost::unreached) return std::nullopt;
    return path();
  }

 private:
  // Values of by_: the transition that led to a state, + the task.
  static constexpr uint8_t runs_first = 0, runs_again = 32, forgets = 64, none = 255;
  static Set bit(TaskId v) { return Set{1} << v; }

  struct State {
    Set run = 0, memory = 0;  // memory is a subset of run
  };
  size_t index(State s) const { return set_index_[s.run] + set_index_[s.memory]; }

  int64_t bytes_of(Set memory) const {
    int64_t bytes = 0;
    for (Set left = memory; left != 0; left &= left - 1)
      bytes += graph_[static_cast<TaskId>(std::countr_zero(left))].bytes;
    return bytes;
  }

  // `step(cost so far, task, bytes at the step)` returns the cost after it, or nothing if it isn't
  // allowed; forgetting costs nothing. Returns the cost of the final state, and records the path to
  // it.
  template <class Step>
  Cost run(const Step& step) {
    const Set all = static_cast<Set>((uint64_t{1} << tasks_) - 1);
    relax({}, {0, 0}, none);
    while (!queue_.empty()) {
      const auto [cost, run, memory] = queue_.top();
      queue_.pop();
      const State s{run, memory};
      if (cost_[index(s)] < cost) continue;
      if (run == all && (kept_ & ~memory) == 0) {
        end_ = s;
        return cost;
      }
      const int64_t bytes = bytes_of(memory);
      for (TaskId v = 0; v < tasks_; ++v) {
        if (memory & bit(v)) {
          relax({run, memory & ~bit(v)}, cost, static_cast<uint8_t>(v + forgets));
          continue;
        }
        if ((operands_[v] & ~memory) != 0 || !may_run(v, run)) continue;
        if (const auto next = step(cost, v, bytes + graph_[v].bytes + graph_[v].workspace))
          relax({run | bit(v), memory | bit(v)}, *next,
                static_cast<uint8_t>(v + (run & bit(v) ? runs_again : runs_first)));
      }
    }
    return {};
  }

  bool may_run(TaskId v, Set run) const {
    if (run & bit(v)) return !graph_[v].once;
    return first_runs_.empty() || first_runs_[static_cast<size_t>(std::popcount(run))] == v;
  }

  void relax(State s, const Cost& cost, uint8_t by) {
    const size_t at = index(s);
    if (cost_[at] <= cost) return;
    cost_[at] = cost;
    by_[at] = by;
    queue_.emplace(cost, s.run, s.memory);
  }

  // Walks back from the final state.
  std::vector<TaskId> path() const {
    std::vector<TaskId> steps;
    for (State s = end_; by_[index(s)] != none;) {
      const uint8_t by = by_[index(s)];
      const auto v = static_cast<TaskId>(by % runs_again);
      if (by >= forgets) {
        s.memory |= bit(v);
        continue;
      }
      steps.push_back(v);
      s.memory &= ~bit(v);
      if (by < runs_again) s.run &= ~bit(v);
    }
    std::reverse(steps.begin(), steps.end());
    return steps;
  }

  const TaskGraph& graph_;
  TaskId tasks_;
  std::vector<Set> operands_;
  std::span<const TaskId> first_runs_;
  Set kept_ = 0;
  std::vector<size_t> set_index_;  // by set: the sum of 3^task
  std::vector<Cost> cost_;         // by state
  std::vector<uint8_t> by_;        // by state: how it was reached
  State end_;
  using Entry = std::tuple<Cost, Set, Set>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

FoundSequence found_of(const TaskGraph& graph, std::vector<TaskId> steps) {
  const Simulated s = value_or_throw(simulate(graph, steps));
  return {std::move(steps), s.peak, s.time, true};
}

}  // namespace

int64_t exact_min_peak(const TaskGraph& graph) { return Search(graph, {}).min_peak(); }

std::optional<FoundSequence> exact_min_time(const TaskGraph& graph, int64_t limit,
                                            std::span<const TaskId> first_runs) {
  std::optional<std::vector<TaskId>> steps = Search(graph, first_runs).min_time(limit);
  if (!steps) return std::nullopt;
  return found_of(graph, *std::move(steps));
}

FoundSequence exact_lowest(const TaskGraph& graph) {
  FoundSequence lowest = *exact_min_time(graph, exact_min_peak(graph));
  return lowest;
}

}  // namespace cleave::plan
