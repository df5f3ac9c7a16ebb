#include "plan/cut_sequence.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "plan/recompute_bound.h"
#include "plan/simulate.h"

namespace cleave::plan {
namespace {

constexpr double slack = 0.98;  // factor of the room for the next cut of the order

// Cuts at the peak of `from`, so that the peak step fits `room` bytes. Returns the sequence with
// the copies that the cut adds; nothing if the cut recomputes nothing.
std::optional<CutSequence> cut_at_peak(const TaskGraph& graph, const CutSequence& from,
                                       int64_t room) {
  const auto steps = unrolled(graph, from.steps);
  if (!steps.ok()) return std::nullopt;
  std::vector<TaskId> order(from.steps.size());
  std::iota(order.begin(), order.end(), TaskId{0});
  const MomentBound cut =
      bound_at(moment_in_order(*steps, order, from.peak_step), room, effort_for(graph.size()).cuts);
  if (!cut.reachable || cut.fits.again.empty()) return std::nullopt;
  CutSequence made{with_recomputed(*steps, order, from.peak_step, cut.fits.again), 0, 0};
  for (TaskId& step : made.steps) step = from.steps[step];
  const auto run = simulate(graph, made.steps);
  if (!run.ok()) return std::nullopt;
  made.peak = run->peak;
  made.peak_step = run->peak_step;
  return made;
}

}  // namespace

std::optional<CutSequence> cut_to_limit(const TaskGraph& graph, std::span<const TaskId> order,
                                        int64_t limit, int cuts) {
  const auto in_order = simulate(graph, order);
  if (!in_order.ok()) return std::nullopt;
  const CutSequence first{{order.begin(), order.end()}, in_order->peak, in_order->peak_step};
  std::optional<CutSequence> best;
  auto room = static_cast<double>(limit);
  while (cuts > 0) {
    CutSequence now = first;
    int64_t reached = std::numeric_limits<int64_t>::max();
    for (bool helps = true; helps && cuts > 0; --cuts) {
      std::optional<CutSequence> next = cut_at_peak(graph, now, static_cast<int64_t>(room));
      if (!next) break;
      helps = next->peak - limit < (now.peak - limit) / 10 * 9;
      reached = std::min(reached, next->peak);
      now = *std::move(next);
      if (!best || now.peak < best->peak) best = now;
      if (now.peak <= limit) return best;
    }
    if (reached == std::numeric_limits<int64_t>::max()) return best;
    room *= slack * static_cast<double>(limit) / static_cast<double>(reached);
  }
  return best;
}

Result<TaskGraph> unrolled(const TaskGraph& graph, std::span<const TaskId> steps) {
  constexpr TaskId none = UINT32_MAX;
  std::vector<Task> tasks;
  std::vector<Link> links;
  std::vector<TaskId> newest(graph.size(), none);
  for (TaskId i = 0; i < steps.size(); ++i) {
    const TaskId v = steps[i];
    if (newest[v] != none) tasks[newest[v]].kept = false;
    tasks.push_back(graph[v]);
    for (TaskId x : graph.operands(v)) {
      if (newest[x] == none)
        return user_error("step {}: task {} reads task {}, which has not run yet", i, v, x);
      links.emplace_back(newest[x], i);
    }
    newest[v] = i;
  }
  return make_task_graph(std::move(tasks), links);
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

}  // namespace cleave::plan
