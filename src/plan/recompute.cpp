#include "plan/recompute.h"

#include <algorithm>
#include <limits>

#include "plan/block_sequence.h"
#include "plan/cut_sequence.h"
#include "plan/exact_sequence.h"
#include "plan/order.h"
#include "plan/recompute_bound.h"
#include "plan/simulate.h"

namespace cleave::plan {
namespace {

constexpr int cuts_of_small = 16, cuts_of_large = 8;  // of an order
constexpr size_t continued = 2;                       // starts
constexpr int cuts_of_seed = 8;
constexpr int64_t near_bound = 100;  // a program's search ends within 1/100 of the bound of a cut

bool better(const FoundSequence& a, const FoundSequence& b) {
  if (a.met != b.met) return a.met;
  return a.met ? a.time < b.time : a.peak < b.peak;
}

// Searches orders without copies first, then with copies from each start, then from the best two,
// then from the best. Without orders, seeds are only searched on.
class Planner {
 public:
  Planner(const TaskGraph& graph, int64_t limit, uint64_t seed, int64_t moves, int64_t min_time)
      : graph_(graph), limit_(limit), seed_(seed), moves_(moves), min_time_(min_time) {}

  FoundSequence run(std::span<const std::vector<TaskId>> orders,
                    std::span<const std::vector<TaskId>> seeds) {
    std::vector<std::vector<TaskId>> starts(seeds.begin(), seeds.end());
    for (const std::vector<TaskId>& order : orders) {
      add_starts(order, starts);
      const FoundSequence f =
          search(order, moves_ / 4 / static_cast<int64_t>(orders.size()), SearchKind::order_only);
      if (done()) return best_;
      if (!is_large(graph_.size())) add_starts(f.tasks, starts);
    }
    if (!orders.empty())
      for (const std::vector<TaskId>& seed : seeds)
        if (auto cut = cut_to_limit(graph_, seed, limit_, cuts_of_seed))
          starts.push_back(std::move(cut->tasks));
    // Each start is tried briefly; most of the moves go to the best of what they lead to.
    std::vector<FoundSequence> tried;
    const int64_t each = moves_ / 6 / static_cast<int64_t>(starts.size());
    for (const auto& start : starts) {
      tried.push_back(search(start, each, SearchKind::wide));
      if (done()) return best_;
    }
    std::stable_sort(tried.begin(), tried.end(), better);
    if (tried.size() > continued) tried.resize(continued);
    for (const FoundSequence& t : tried) {
      search(t.tasks, moves_ / 3 / static_cast<int64_t>(tried.size()), SearchKind::wide);
      if (done()) return best_;
    }
    for (int again = 0; again < 3 && !done(); ++again) {
      const std::vector<TaskId> start = best_.tasks;
      search(start, moves_ / 12, SearchKind::near_start);
    }
    return best_;
  }

 private:
  bool done() const { return best_.met && best_.time <= min_time_; }

  // Adds the sequence, the result of cutting it, and where that isn't within the limit, of blocks.
  void add_starts(std::span<const TaskId> from, std::vector<std::vector<TaskId>>& starts) const {
    const auto add = [&](std::vector<TaskId> tasks) {
      if (std::find(starts.begin(), starts.end(), tasks) == starts.end())
        starts.push_back(std::move(tasks));
    };
    add({from.begin(), from.end()});
    std::optional<CutSequence> cut =
        cut_to_limit(graph_, from, limit_, is_large(graph_.size()) ? cuts_of_large : cuts_of_small);
    const int64_t peak = cut ? cut->peak : std::numeric_limits<int64_t>::max();
    if (cut) add(std::move(cut->tasks));
    if (peak <= limit_) return;
    std::optional<CutSequence> blocks = blocks_to_limit(graph_, from, limit_);
    if (blocks && blocks->peak < peak) add(std::move(blocks->tasks));
  }

  FoundSequence search(std::span<const TaskId> start, int64_t moves, SearchKind kind) {
    FoundSequence found = search_sequence(graph_, start, limit_, {++seed_, moves, min_time_, kind});
    if (best_.tasks.empty() || better(found, best_)) best_ = found;
    return found;
  }

  const TaskGraph& graph_;
  int64_t limit_;
  uint64_t seed_;
  int64_t moves_, min_time_;
  FoundSequence best_;
};

void plan_exactly(const TaskGraph& graph, int64_t limit, RecomputePlan& plan) {
  plan.min_peak = exact_min_peak(graph);
  plan.reachable = plan.min_peak <= limit;
  if (!plan.reachable) {
    plan.found = exact_lowest(graph);
    plan.found.met = false;
    return;
  }
  plan.found = *exact_min_time(graph, limit);
  plan.bound_time = plan.found.time - plan.time_once;
  plan.bound_given_time = std::max(plan.bound_given_time, plan.bound_time);
}

}  // namespace

int64_t recompute_moves(size_t tasks) {
  const auto n = static_cast<double>(std::max<size_t>(tasks, 1));
  const double most = std::max(3e6, 3000 * n);
  return static_cast<int64_t>(std::min(most, 1e5 + 12 * n + 4.8e16 / (n * n * n)));
}

FoundSequence find_recompute(const TaskGraph& graph, std::span<const std::vector<TaskId>> orders,
                             int64_t limit, const RecomputeOptions& options) {
  if (graph.size() == 0) return {{}, 0, 0, limit >= 0};
  int64_t once = 0;
  for (const Task& t : graph.tasks) once += t.time;
  const int64_t moves = options.moves > 0 ? options.moves : recompute_moves(graph.size());
  int64_t bound = 0;  // by one moment of each order
  for (const std::vector<TaskId>& order : orders) {
    const int64_t in_order =
        bound_given_order(graph, order, limit, {1, effort_for(graph.size()).cuts}).time;
    bound = bound == 0 ? in_order : std::min(bound, in_order);
  }
  return Planner(graph, limit, options.seed, moves, once + bound + bound / near_bound)
      .run(orders, options.seeds);
}

Result<RecomputePlan> plan_recompute(const TaskGraph& graph, std::span<const TaskId> given,
                                     int64_t limit, const RecomputeOptions& options) {
  CLEAVE_TRY(const Simulated start, simulate(graph, given));
  if (given.size() != graph.size())
    return user_error("an order of {} entries for {} tasks: expected each task once", given.size(),
                      graph.size());
  RecomputePlan plan;
  plan.time_once = start.time_once;
  if (start.peak <= limit || given.empty()) {
    plan.found = {{given.begin(), given.end()}, start.peak, start.time, start.peak <= limit};
    return plan;
  }
  const BoundEffort effort = effort_for(graph.size());
  const RecomputeBound in_order = bound_given_order(graph, given, limit, effort);
  plan.bound_given_time = in_order.time;
  if (is_exact(graph))
    if (const auto best = exact_min_time(graph, limit, given))
      plan.bound_given_time = best->time - plan.time_once;
  plan.min_peak = largest_task(graph);
  plan.reachable = plan.min_peak <= limit;
  const Order order = min_peak_order(graph, given);
  if (order.peak <= limit) {
    plan.found = {order.tasks, order.peak, start.time_once, true};
    return plan;
  }
  if (is_exact(graph)) {
    plan_exactly(graph, limit, plan);
    return plan;
  }
  const RecomputeBound any = bound_any_order(graph, order.tasks, limit, effort);
  plan.bound_time = any.time;
  plan.reachable = plan.reachable && any.reachable;
  plan.bound_given_time = std::max(plan.bound_given_time, any.time);
  std::vector<std::vector<TaskId>> orders{{given.begin(), given.end()}};
  if (order.peak < start.peak) orders.push_back(order.tasks);
  const int64_t moves = options.moves > 0 ? options.moves : recompute_moves(graph.size());
  plan.found = Planner(graph, limit, options.seed, moves, plan.time_once + plan.bound_time)
                   .run(orders, {options.seeds.data(), options.seeds.size()});
  return plan;
}

}  // namespace cleave::plan
