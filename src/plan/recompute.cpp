#include "plan/recompute.h"

#include <algorithm>

#include "plan/order.h"
#include "plan/recompute_bound.h"
#include "plan/simulate.h"

namespace cleave::plan {
namespace {

constexpr size_t large = 20000;  // tasks from which a cut is dear beside the search

BoundEffort effort_for(size_t tasks) {
  if (tasks <= 2000) return {};
  return {tasks <= large ? size_t{4} : size_t{1}, 10};
}

// The order, and what a cut at its peak says to recompute. A recomputed value takes memory of its
// own, so where a cut at the limit ends above it, the next is made for as much less room.
std::vector<std::vector<TaskId>> starts_of(const TaskGraph& graph, std::span<const TaskId> order,
                                           int64_t limit) {
  std::vector<std::vector<TaskId>> starts{{order.begin(), order.end()}};
  const auto in_order = simulate(graph, order);
  if (!in_order.ok()) return starts;
  const size_t at = in_order->peak_step;
  const Moment moment = moment_in_order(graph, order, at);
  auto room = static_cast<double>(limit);
  const int rounds = graph.size() > large ? 2 : 4;
  for (int round = 0; round < rounds; ++round) {
    const MomentBound cut =
        bound_at(moment, static_cast<int64_t>(room), effort_for(graph.size()).cuts);
    if (!cut.reachable || cut.fits.again.empty()) break;
    std::vector<TaskId> steps = with_recomputed(graph, order, at, cut.fits.again);
    const auto made = simulate(graph, steps);
    if (!made.ok()) break;
    if (starts.size() > 1) starts.pop_back();
    starts.push_back(std::move(steps));
    if (made->peak <= limit) break;
    room *= 0.98 * static_cast<double>(limit) / static_cast<double>(made->peak);
  }
  return starts;
}

bool better(const FoundSequence& a, const FoundSequence& b) {
  if (a.met != b.met) return a.met;
  return a.met ? a.time < b.time : a.peak < b.peak;
}

// The order alone, then copies from each start, then a long search from the best.
class Planner {
 public:
  Planner(const TaskGraph& graph, int64_t limit, uint64_t seed, int64_t moves, int64_t least_time)
      : graph_(graph), limit_(limit), seed_(seed), moves_(moves), least_time_(least_time) {}

  FoundSequence run(std::span<const std::vector<TaskId>> orders,
                    std::span<const std::vector<TaskId>> seeds) {
    std::vector<std::vector<TaskId>> starts(seeds.begin(), seeds.end());
    for (const std::vector<TaskId>& order : orders) {
      add_starts(order, starts);
      const FoundSequence f = search(order, moves_ * 3 / 8 / static_cast<int64_t>(orders.size()),
                                     SearchKind::order_only);
      if (done()) return best_;
      if (graph_.size() <= large) add_starts(f.steps, starts);
    }
    const int64_t each = moves_ * 3 / 8 / static_cast<int64_t>(starts.size());
    for (const auto& start : starts) {
      search(start, each, SearchKind::wide);
      if (done()) return best_;
    }
    for (int again = 0; again < 3 && !done(); ++again) {
      const std::vector<TaskId> start = best_.steps;
      search(start, moves_ / 12, SearchKind::near_start);
    }
    return best_;
  }

 private:
  bool done() const { return best_.met && best_.time <= least_time_; }

  void add_starts(std::span<const TaskId> order, std::vector<std::vector<TaskId>>& starts) const {
    for (auto& s : starts_of(graph_, order, limit_))
      if (std::find(starts.begin(), starts.end(), s) == starts.end())
        starts.push_back(std::move(s));
  }

  FoundSequence search(std::span<const TaskId> start, int64_t moves, SearchKind kind) {
    FoundSequence found =
        search_sequence(graph_, start, limit_, {++seed_, moves, least_time_, kind});
    if (best_.steps.empty() || better(found, best_)) best_ = found;
    return found;
  }

  const TaskGraph& graph_;
  int64_t limit_;
  uint64_t seed_;
  int64_t moves_, least_time_;
  FoundSequence best_;
};

}  // namespace

int64_t recompute_moves(size_t tasks) {
  const auto n = static_cast<double>(std::max<size_t>(tasks, 1));
  return static_cast<int64_t>(std::min(3e6, 1e5 + 12 * n + 1.3e14 / (n * n * n)));
}

std::vector<TaskId> with_recomputed(const TaskGraph& graph, std::span<const TaskId> order,
                                    size_t at, std::span<const TaskId> again) {
  std::vector<bool> pending(graph.size(), false);
  for (TaskId v : again) pending[v] = !graph[v].once;
  for (size_t i = at + 1; i < order.size(); ++i) pending[order[i]] = false;  // not yet run
  std::vector<TaskId> out(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  std::vector<TaskId> stack;
  for (size_t i = at + 1; i < order.size(); ++i) {
    stack.assign(1, order[i]);
    while (!stack.empty()) {
      const TaskId v = stack.back();
      const size_t depth = stack.size();
      for (TaskId x : graph.operands(v))
        if (pending[x]) stack.push_back(x);
      if (stack.size() > depth) continue;
      stack.pop_back();
      if (!pending[v] && v != order[i]) continue;  // made meanwhile
      pending[v] = false;
      out.push_back(v);
    }
  }
  return out;
}

FoundSequence find_recompute(const TaskGraph& graph, std::span<const std::vector<TaskId>> orders,
                             int64_t limit, const RecomputeOptions& options) {
  int64_t once = 0;
  for (const Task& t : graph.tasks) once += t.time;
  const int64_t moves = options.moves > 0 ? options.moves : recompute_moves(graph.size());
  return Planner(graph, limit, options.seed, moves, once).run(orders, options.seeds);
}

Result<RecomputePlan> plan_recompute(const TaskGraph& graph, std::span<const TaskId> given,
                                     int64_t limit, const RecomputeOptions& options) {
  CLEAVE_TRY(const Simulated start, simulate(graph, given));
  if (given.size() != graph.size())
    return user_error("an order of {} steps for {} tasks: expected each task once", given.size(),
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
  plan.reachable = largest_step(graph) <= limit;
  const Order order = least_peak_order(graph, given);
  if (order.peak <= limit) {
    plan.found = {order.steps, order.peak, start.time_once, true};
    return plan;
  }
  const RecomputeBound any = bound_any_order(graph, order.steps, limit, effort);
  plan.bound_time = any.time;
  plan.reachable = plan.reachable && any.reachable;
  plan.bound_given_time = std::max(plan.bound_given_time, any.time);
  std::vector<std::vector<TaskId>> orders{{given.begin(), given.end()}};
  if (order.peak < start.peak) orders.push_back(order.steps);
  const int64_t moves = options.moves > 0 ? options.moves : recompute_moves(graph.size());
  plan.found = Planner(graph, limit, options.seed, moves, plan.time_once + plan.bound_time)
                   .run(orders, {options.seeds.data(), options.seeds.size()});
  return plan;
}

}  // namespace cleave::plan
