#include "plan/order.h"

#include <algorithm>

#include "plan/list_schedule.h"
#include "plan/series_parallel.h"
#include "plan/window_order.h"

namespace cleave::plan {
namespace {

// Graphs of more tasks skip the keys that rarely win.
constexpr size_t max_for_growth = 20000, max_for_backward = 200000;
constexpr size_t max_window = 64;
constexpr size_t sets_a_look = 16;         // scanning that many tasks takes as long as one set
constexpr size_t sets_when_small = 20000;  // for graphs of up to max_window tasks

// Calls f(bytes at the task, bytes that stay live after it) for each task of an order.
template <class F>
void walk_memory(const TaskGraph& graph, const std::vector<TaskId>& tasks, const F& f) {
  std::vector<uint32_t> left(graph.values.size());
  for (ValueId x = 0; x < left.size(); ++x)
    left[x] = static_cast<uint32_t>(graph.users(x).size()) + (graph.values[x].kept ? 1 : 0);
  int64_t live = 0;
  for (const TaskId v : tasks) {
    live += graph[v].bytes;
    const int64_t at = live + graph[v].workspace;
    for (const ValueId x : graph.operands(v))
      if (--left[x] == 0) live -= graph.values[x].bytes;
    for (const ValueId x : graph.made_by(v))
      if (left[x] == 0) live -= graph.values[x].bytes;
    f(at, live);
  }
}

int64_t peak_of(const TaskGraph& graph, const std::vector<TaskId>& tasks) {
  int64_t peak = 0;
  walk_memory(graph, tasks, [&](int64_t at, int64_t) { peak = std::max(peak, at); });
  return peak;
}

struct Memory {
  std::vector<int64_t> after;
  int64_t peak = 0;
  size_t peak_position = 0;
};

Memory memory_of(const TaskGraph& graph, const std::vector<TaskId>& tasks) {
  Memory m;
  m.after.reserve(tasks.size());
  walk_memory(graph, tasks, [&](int64_t at, int64_t after) {
    if (at > m.peak) m.peak = at, m.peak_position = m.after.size();
    m.after.push_back(after);
  });
  return m;
}

class Improver {
 public:
  Improver(const TaskGraph& graph, Order& order)
      : graph_(graph), order_(order), position_(graph.size()),
        memory_(memory_of(graph, order.tasks)) {
    for (size_t i = 0; i < order.tasks.size(); ++i)
      position_[order.tasks[i]] = static_cast<uint32_t>(i);
  }

  void run() {
    const size_t n = graph_.size();
    size_t sets_left = n <= max_window ? sets_when_small : n / 8;
    while (order_.peak > order_.lower_bound && sets_left > 0)
      if (!improve_peak(sets_left)) return;
  }

 private:
  // Tries increasingly wide windows around the first task at the peak.
  bool improve_peak(size_t& sets_left) {
    const size_t n = graph_.size();
    for (const size_t width : {size_t{16}, size_t{32}, max_window}) {
      const size_t wide = std::min(width, n);
      const size_t begin =
          std::min(memory_.peak_position - std::min(memory_.peak_position, wide / 2), n - wide);
      const int64_t before = begin == 0 ? 0 : memory_.after[begin - 1];
      const WindowOrder w =
          order_window(graph_, order_.tasks, position_, begin, begin + wide, before, sets_left);
      sets_left -= std::min(sets_left, w.sets);
      if (wide == n && w.end != WindowEnd::unknown) order_.optimal = true;
      if (w.end == WindowEnd::improved) {
        memory_ = memory_of(graph_, order_.tasks);
        order_.peak = memory_.peak;
        sets_left -= std::min(sets_left, n / sets_a_look);
        return wide < n;
      }
      if (wide == n) return false;
    }
    return false;
  }

  const TaskGraph& graph_;
  Order& order_;
  std::vector<uint32_t> position_;
  Memory memory_;
};

}  // namespace

int64_t operand_bytes(const TaskGraph& graph, TaskId v) {
  int64_t bytes = 0;
  for (const ValueId x : graph.operands(v)) bytes += graph.values[x].bytes;
  return bytes;
}

int64_t largest_task(const TaskGraph& graph) {
  int64_t largest = 0;
  for (TaskId v = 0; v < graph.size(); ++v) {
    int64_t required = 0, optional = 0;  // of the latter one may be made alone
    for (const ValueId x : graph.made_by(v)) {
      const Value& value = graph.values[x];
      if (value.optional)
        optional = std::max(optional, value.bytes);
      else
        required += value.bytes;
    }
    largest = std::max(largest, operand_bytes(graph, v) + required + optional + graph[v].workspace);
  }
  return largest;
}

Order min_peak_order(const TaskGraph& graph, std::span<const TaskId> given) {
  Order best;
  for (const Value& value : graph.values) best.lower_bound += value.kept ? value.bytes : 0;
  for (TaskId v = 0; v < graph.size(); ++v)
    best.lower_bound =
        std::max(best.lower_bound, operand_bytes(graph, v) + graph[v].bytes + graph[v].workspace);
  const auto offer = [&](std::vector<TaskId> tasks) {
    if (!best.tasks.empty() && best.peak == best.lower_bound) return;
    const int64_t peak = peak_of(graph, tasks);
    if (best.tasks.empty() || peak < best.peak) best.tasks = std::move(tasks), best.peak = peak;
  };
  offer(list_schedule(graph, ListKey::min_peak));
  if (!given.empty()) offer({given.begin(), given.end()});
  offer(list_schedule(graph, ListKey::newest));
  if (graph.size() <= max_for_growth) offer(list_schedule(graph, ListKey::min_growth));
  if (graph.size() <= max_for_backward) offer(list_schedule_backward(graph));
  if (best.peak > best.lower_bound) {
    MergedOrder merged = merge_series_parallel(graph);
    const bool exact = merged.exact;
    offer(std::move(merged.tasks));
    if (exact) best.lower_bound = best.peak;
  }
  if (!graph.tasks.empty()) Improver(graph, best).run();
  if (best.peak == best.lower_bound) best.optimal = true;
  if (best.optimal) best.lower_bound = best.peak;
  return best;
}

}  // namespace cleave::plan
