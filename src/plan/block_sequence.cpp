#include "plan/block_sequence.h"

#include <algorithm>

#include "plan/moment_cut.h"
#include "plan/recompute_bound.h"
#include "plan/simulate.h"

namespace cleave::plan {
namespace {

constexpr int most_bisections = 10;

class Blocks {
 public:
  Blocks(const TaskGraph& graph, std::span<const TaskId> order, size_t peak, int64_t limit)
      : graph_(graph), order_(order), peak_(peak), limit_(limit), position_(graph.size()) {
    for (size_t i = 0; i < order.size(); ++i) position_[order[i]] = i;
    const Moment moment = moment_in_order(graph, order, peak);
    for (const TaskId v : moment.keep_least().again)
      if (position_[v] < peak) again_.push_back(v);
    std::ranges::sort(again_, {}, [&](TaskId v) { return position_[v]; });
  }

  std::optional<CutSequence> run() {
    if (again_.empty()) return std::nullopt;
    for (size_t distance = 2; distance / 2 <= again_.size(); distance *= 2) try_distance(distance);
    return std::move(best_);
  }

 private:
  // The fewest of the first values with which the limit is met.
  void try_distance(size_t distance) {
    if (!attempt(distance, again_.size())) return;
    size_t enough = again_.size(), few = 0;
    for (int k = 0; k < most_bisections && enough - few > 1; ++k) {
      const size_t half = few + (enough - few) / 2;
      (attempt(distance, half) ? enough : few) = half;
    }
  }

  // Whether the limit is met.
  bool attempt(size_t distance, size_t count) {
    std::vector<TaskId> chosen;
    for (size_t i = 0; i < count; ++i)
      if (i % distance != distance - 1) chosen.push_back(again_[i]);
    CutSequence made{with_recomputed(graph_, order_, peak_, chosen), 0, 0};
    const auto run = simulate(graph_, made.tasks);
    if (!run.ok()) return false;
    made.peak = run->peak;
    made.peak_position = run->peak_position;
    const bool met = made.peak <= limit_;
    const bool better = !best_ || (met != best_met_ ? met
                                   : met            ? run->time < best_time_
                                                    : made.peak < best_->peak);
    if (!better) return met;
    best_ = std::move(made);
    best_met_ = met;
    best_time_ = run->time;
    return met;
  }

  const TaskGraph& graph_;
  std::span<const TaskId> order_;
  size_t peak_;
  int64_t limit_;
  std::vector<size_t> position_;  // by task
  std::vector<TaskId> again_;     // in the order
  std::optional<CutSequence> best_;
  bool best_met_ = false;
  int64_t best_time_ = 0;
};

}  // namespace

std::optional<CutSequence> blocks_to_limit(const TaskGraph& graph, std::span<const TaskId> order,
                                           int64_t limit) {
  const auto run = simulate(graph, order);
  if (!run.ok() || order.size() != graph.size()) return std::nullopt;
  return Blocks(graph, order, run->peak_position, limit).run();
}

}  // namespace cleave::plan
