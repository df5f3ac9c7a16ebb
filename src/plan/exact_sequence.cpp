#include "plan/exact_sequence.h"

#include <algorithm>
#include <bit>
#include <queue>
#include <tuple>

#include "plan/simulate.h"

namespace cleave::plan {
namespace {

using Set = uint32_t;  // of values; of tasks, as all the values that they make

// The cost of a path so far: either only the peak, or time and steps.
struct Cost {
  int64_t first = unreached, second = 0;
  static constexpr int64_t unreached = INT64_MAX;
  friend auto operator<=>(const Cost&, const Cost&) = default;
};

class Search {
 public:
  Search(const TaskGraph& graph, std::span<const TaskId> first_runs)
      : graph_(graph), values_(static_cast<ValueId>(graph.values.size())), operands_(graph.size()),
        made_(graph.size()), first_runs_(first_runs) {
    for (TaskId v = 0; v < graph.size(); ++v) {
      for (const ValueId x : graph.operands(v)) operands_[v] |= bit(x);
      for (const ValueId x : graph.made_by(v)) made_[v] |= bit(x);
    }
    size_t states = 1;
    set_index_.assign(size_t{1} << values_, 0);
    for (ValueId x = 0; x < values_; ++x, states *= 3) {
      if (graph.values[x].kept) kept_ |= bit(x);
      if (graph.values[x].optional) optional_ |= bit(x);
      for (Set s = bit(x); s < bit(x) * 2; ++s) set_index_[s] = set_index_[s - bit(x)] + states;
    }
    cost_.assign(states, {});
    by_.assign(states, {});
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
  static Set bit(ValueId x) { return Set{1} << x; }

  struct State {
    Set run = 0, memory = 0;  // memory is a subset of run
  };
  enum class Move : uint8_t { start, forgets, runs_first, runs_again };
  // The transition that led to a state, and what was in memory before.
  struct By {
    Move move = Move::start;
    uint8_t task = 0;
    uint16_t memory = 0;
  };
  size_t index(State s) const { return set_index_[s.run] + set_index_[s.memory]; }

  int64_t bytes_of(Set memory) const {
    int64_t bytes = 0;
    for (Set left = memory; left != 0; left &= left - 1)
      bytes += graph_.values[static_cast<ValueId>(std::countr_zero(left))].bytes;
    return bytes;
  }

  // `step(cost so far, task, bytes at the step)` returns the cost after it, or nothing if it isn't
  // allowed; forgetting costs nothing. Returns the cost of the final state, and records the path to
  // it.
  template <class Step>
  Cost run(const Step& step) {
    const Set all = static_cast<Set>((uint64_t{1} << values_) - 1);
    relax({}, {0, 0}, Move::start, 0, 0);
    while (!queue_.empty()) {
      const auto [cost, run, memory] = queue_.top();
      queue_.pop();
      const State s{run, memory};
      if (cost_[index(s)] < cost) continue;
      if (run == all && (kept_ & ~memory) == 0) {
        end_ = s;
        return cost;
      }
      for (TaskId v = 0; v < graph_.size(); ++v) {
        for (Set left = memory & made_[v]; left != 0; left &= left - 1)
          relax({run, memory & ~(left & -left)}, cost, Move::forgets, v, memory);
        if ((operands_[v] & ~memory) != 0 || !may_run(v, run)) continue;
        const Set missing = made_[v] & ~memory, required = missing & ~optional_;
        for (Set chosen = missing & optional_;; chosen = (chosen - 1) & missing & optional_) {
          const Set now = memory | required | chosen;
          // What isn't optional is made anew with the others, over what is there.
          if (const auto next = step(cost, v, bytes_of(now) + graph_[v].workspace);
              next && now != memory)
            relax({run | made_[v], now}, *next,
                  run & made_[v] ? Move::runs_again : Move::runs_first, v, memory);
          if (chosen == 0) break;
        }
      }
    }
    return {};
  }

  bool may_run(TaskId v, Set run) const {
    if (run & made_[v]) return !graph_[v].once;
    if (first_runs_.empty()) return true;
    const auto has_run = [&](TaskId u) { return (run & made_[u]) != 0; };
    return *std::ranges::find_if_not(first_runs_, has_run) == v;
  }

  void relax(State s, const Cost& cost, Move move, TaskId v, Set memory) {
    const size_t at = index(s);
    if (cost_[at] <= cost) return;
    cost_[at] = cost;
    by_[at] = {move, static_cast<uint8_t>(v), static_cast<uint16_t>(memory)};
    queue_.emplace(cost, s.run, s.memory);
  }

  // Walks back from the final state.
  std::vector<TaskId> path() const {
    std::vector<TaskId> steps;
    State s = end_;
    for (By by = by_[index(s)]; by.move != Move::start; by = by_[index(s)]) {
      if (by.move != Move::forgets) steps.push_back(by.task);
      if (by.move == Move::runs_first) s.run &= ~made_[by.task];
      s.memory = by.memory;
    }
    std::reverse(steps.begin(), steps.end());
    return steps;
  }

  const TaskGraph& graph_;
  ValueId values_;
  std::vector<Set> operands_, made_;  // by task
  std::span<const TaskId> first_runs_;
  Set kept_ = 0, optional_ = 0;
  std::vector<size_t> set_index_;  // by set: the sum of 3^value
  std::vector<Cost> cost_;         // by state
  std::vector<By> by_;             // by state: how it was reached
  State end_;
  using Entry = std::tuple<Cost, Set, Set>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

FoundSequence found_of(const TaskGraph& graph, std::vector<TaskId> steps) {
  const Simulated s = value_or_bug(simulate(graph, steps));
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
