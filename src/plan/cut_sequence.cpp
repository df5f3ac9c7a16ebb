#include "plan/cut_sequence.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "plan/recompute_bound.h"
#include "plan/simulate.h"

namespace cleave::plan {
namespace {

constexpr double slack = 0.98;  // factor of the room for the next cut of the order

// Cuts at the peak of `from`, so that the peak position fits `room` bytes. Returns the sequence
// with the copies that the cut adds; nothing if the cut recomputes nothing.
std::optional<CutSequence> cut_at_peak(const TaskGraph& graph, const CutSequence& from,
                                       int64_t room) {
  const auto runs = unrolled(graph, from.tasks);
  if (!runs.ok()) return std::nullopt;
  std::vector<TaskId> order(from.tasks.size());
  std::iota(order.begin(), order.end(), TaskId{0});
  const MomentBound cut = bound_at(moment_in_order(*runs, order, from.peak_position), room,
                                   effort_for(graph.size()).cuts);
  if (!cut.reachable || cut.fits.again.empty()) return std::nullopt;
  CutSequence made{with_recomputed(*runs, order, from.peak_position, cut.fits.again), 0, 0};
  for (TaskId& task : made.tasks) task = from.tasks[task];
  const auto run = simulate(graph, made.tasks);
  if (!run.ok()) return std::nullopt;
  made.peak = run->peak;
  made.peak_position = run->peak_position;
  return made;
}

}  // namespace

std::optional<CutSequence> cut_to_limit(const TaskGraph& graph, std::span<const TaskId> order,
                                        int64_t limit, int cuts) {
  const auto in_order = simulate(graph, order);
  if (!in_order.ok()) return std::nullopt;
  const CutSequence first{{order.begin(), order.end()}, in_order->peak, in_order->peak_position};
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

Result<TaskGraph> unrolled(const TaskGraph& graph, std::span<const TaskId> sequence) {
  constexpr ValueId none = UINT32_MAX;
  std::vector<Task> tasks;
  std::vector<Value> values;
  std::vector<Link> links;
  std::vector<ValueId> newest(graph.size(), none);  // the first value of each task's newest run
  for (TaskId i = 0; i < sequence.size(); ++i) {
    const TaskId v = sequence[i];
    const auto made = graph.made_by(v);
    if (newest[v] != none)
      for (size_t k = 0; k < made.size(); ++k) values[newest[v] + k].kept = false;
    tasks.push_back(graph[v]);
    for (const ValueId x : graph.operands(v)) {
      const TaskId u = graph.maker(x);
      if (newest[u] == none)
        return user_error("position {}: task {} reads task {}, which has not run yet", i, v, u);
      links.emplace_back(newest[u] + (x - graph.first_value(u)), i);
    }
    newest[v] = static_cast<ValueId>(values.size());
    for (const ValueId x : made) {
      values.push_back(graph.values[x]);
      values.back().maker = i;
    }
  }
  return make_task_graph(std::move(tasks), std::move(values), links);
}

std::vector<TaskId> with_recomputed(const TaskGraph& graph, std::span<const TaskId> order,
                                    size_t at, std::span<const TaskId> again) {
  std::vector<bool> pending(graph.size(), false);
  for (TaskId v : again) pending[v] = !graph[v].once;
  for (size_t i = at + 1; i < order.size(); ++i) pending[order[i]] = false;  // not yet run
  std::vector<TaskId> out(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  std::vector<TaskId> stack;
  const auto run = [&](TaskId last) {
    stack.assign(1, last);
    while (!stack.empty()) {
      const TaskId v = stack.back();
      const size_t depth = stack.size();
      for (TaskId u : graph.before(v))
        if (pending[u]) stack.push_back(u);
      if (stack.size() > depth) continue;
      stack.pop_back();
      if (!pending[v] && v != last) continue;  // made meanwhile
      pending[v] = false;
      out.push_back(v);
    }
  };
  for (size_t i = at + 1; i < order.size(); ++i) run(order[i]);
  for (const TaskId v : again)
    if (pending[v] && graph[v].kept) run(v);
  return out;
}

}  // namespace cleave::plan
