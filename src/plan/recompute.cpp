#include "plan/recompute.h"

#include <algorithm>

#include "plan/order.h"
#include "plan/recompute_bound.h"
#include "plan/simulate.h"

namespace cleave::plan {
namespace {

size_t most_moments(size_t tasks) { return tasks <= 2000 ? 16 : tasks <= 20000 ? 6 : 3; }

size_t peak_step(const TaskGraph& graph, std::span<const TaskId> order) {
  const auto s = simulate(graph, order);
  return s.ok() ? s->peak_step : 0;
}

// The orders, and each with what a cut at its peak says to recompute, at the limit and below it: a
// recomputed value takes memory of its own, so a smaller room often fits better.
std::vector<std::vector<TaskId>> starts_of(const TaskGraph& graph, std::span<const TaskId> order,
                                           int64_t limit) {
  std::vector<std::vector<TaskId>> starts{{order.begin(), order.end()}};
  const size_t at = peak_step(graph, order);
  const Moment moment = moment_in_order(graph, order, at);
  for (const int64_t percent : {100, 92}) {
    const MomentBound cut = bound_at(moment, limit / 100 * percent);
    if (cut.reachable && !cut.fits.again.empty())
      starts.push_back(with_recomputed(graph, order, at, cut.fits.again));
  }
  return starts;
}

bool better(const FoundSequence& a, const FoundSequence& b) {
  if (a.met != b.met) return a.met;
  return a.met ? a.time < b.time : a.peak < b.peak;
}

// A short search from each start, then a long one from the best.
FoundSequence search_all(const TaskGraph& graph, const std::vector<std::vector<TaskId>>& starts,
                         int64_t limit, uint64_t seed, int64_t moves, int64_t least_time) {
  FoundSequence best;
  const int64_t each = moves * 2 / 5 / static_cast<int64_t>(starts.size());
  for (const auto& start : starts) {
    FoundSequence found = search_sequence(graph, start, limit, {++seed, each, least_time, true});
    if (best.steps.empty() || better(found, best)) best = std::move(found);
    if (best.met && best.time <= least_time) return best;
  }
  FoundSequence last = search_sequence(
      graph, best.steps, limit,
      {++seed, moves - each * static_cast<int64_t>(starts.size()), least_time, false});
  return better(last, best) ? last : best;
}

}  // namespace

int64_t recompute_moves(size_t tasks) { return 200000 + 25 * static_cast<int64_t>(tasks); }

std::vector<TaskId> with_recomputed(const TaskGraph& graph, std::span<const TaskId> order,
                                    size_t at, std::span<const TaskId> again) {
  std::vector<bool> pending(graph.size(), false);
  for (TaskId v : again) pending[v] = true;
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

Result<RecomputePlan> plan_recompute(const TaskGraph& graph, std::span<const TaskId> given,
                                     int64_t limit, const RecomputeOptions& options) {
  CLEAVE_TRY(const Simulated start, simulate(graph, given));
  if (given.size() != graph.size())
    return user_error("an order of {} steps for {} tasks: expected each task once", given.size(),
                      graph.size());
  RecomputePlan plan;
  plan.time_once = start.time_once;
  if (start.peak <= limit) {
    plan.found = {{given.begin(), given.end()}, start.peak, start.time, true};
    return plan;
  }
  const size_t moments = most_moments(graph.size());
  const RecomputeBound in_order = bound_given_order(graph, given, limit, moments);
  plan.bound_given_time = in_order.time;
  plan.reachable = largest_step(graph) <= limit;
  const Order order = least_peak_order(graph, given);
  if (order.peak <= limit) {
    plan.found = {order.steps, order.peak, start.time_once, true};
    return plan;
  }
  const RecomputeBound any = bound_any_order(graph, order.steps, limit, moments);
  plan.bound_time = any.time;
  plan.bound_given_time = std::max(plan.bound_given_time, any.time);
  std::vector<std::vector<TaskId>> starts = starts_of(graph, given, limit);
  if (order.peak < start.peak)
    for (auto& s : starts_of(graph, order.steps, limit)) starts.push_back(std::move(s));
  starts.insert(starts.end(), options.seeds.begin(), options.seeds.end());
  const int64_t moves = options.moves > 0 ? options.moves : recompute_moves(graph.size());
  plan.found =
      search_all(graph, starts, limit, options.seed, moves, plan.time_once + plan.bound_time);
  return plan;
}

}  // namespace cleave::plan
