#include "plan/task_graph.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace cleave::plan {
namespace {

Status check_sizes(const std::vector<Task>& tasks) {
  int64_t bytes = 0, time = 0;
  for (size_t v = 0; v < tasks.size(); ++v) {
    const Task& t = tasks[v];
    if (t.bytes < 0 || t.workspace < 0 || t.time < 0)
      return user_error("task {}: bytes {}, workspace {}, time {}: expected none below 0", v,
                        t.bytes, t.workspace, t.time);
    if (t.bytes > largest_sum - bytes || t.workspace > largest_sum - bytes - t.bytes ||
        t.time > largest_sum - time)
      return user_error(
          "task {}: the sums of bytes and time must stay below 2^50; use larger units", v);
    bytes += t.bytes + t.workspace;
    time += t.time;
  }
  return {};
}

// Fills the rows of `to` by `from`; the caller chooses the direction of the links.
void fill_rows(size_t tasks, const std::vector<Link>& links, bool by_first,
               std::vector<size_t>& begin, std::vector<TaskId>& row) {
  begin.assign(tasks + 1, 0);
  row.resize(links.size());
  for (const Link& l : links) ++begin[(by_first ? l.first : l.second) + 1];
  for (size_t v = 0; v < tasks; ++v) begin[v + 1] += begin[v];
  std::vector<size_t> at(begin.begin(), begin.end() - 1);
  for (const Link& l : links)
    row[at[by_first ? l.first : l.second]++] = by_first ? l.second : l.first;
}

TaskGraph rows_of(size_t tasks, std::span<const Link> links) {
  std::vector<Link> sorted(links.begin(), links.end());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  TaskGraph g;
  fill_rows(tasks, sorted, true, g.user_begin, g.user);
  fill_rows(tasks, sorted, false, g.operand_begin, g.operand);
  return g;
}

// The tasks that remain after repeatedly removing all without open operands.
std::vector<uint32_t> open_operands_after_sweep(size_t tasks, const TaskGraph& g) {
  std::vector<uint32_t> open(tasks);
  std::vector<TaskId> ready;
  for (TaskId v = 0; v < tasks; ++v) {
    open[v] = static_cast<uint32_t>(g.operands(v).size());
    if (open[v] == 0) ready.push_back(v);
  }
  while (!ready.empty()) {
    const TaskId v = ready.back();
    ready.pop_back();
    for (TaskId u : g.users(v))
      if (--open[u] == 0) ready.push_back(u);
  }
  return open;
}

std::vector<TaskId> cycle_in(size_t tasks, const TaskGraph& g) {
  const std::vector<uint32_t> open = open_operands_after_sweep(tasks, g);
  const auto start = std::find_if(open.begin(), open.end(), [](uint32_t n) { return n > 0; });
  if (start == open.end()) return {};
  // Each remaining task has a remaining operand: walking back must reach one twice.
  std::vector<uint32_t> visited(tasks, 0);
  std::vector<TaskId> walk;
  TaskId v = static_cast<TaskId>(start - open.begin());
  while (visited[v] == 0) {
    walk.push_back(v);
    visited[v] = static_cast<uint32_t>(walk.size());
    for (TaskId u : g.operands(v))
      if (open[u] > 0) {
        v = u;
        break;
      }
  }
  std::vector<TaskId> cycle(walk.begin() + visited[v] - 1, walk.end());
  std::reverse(cycle.begin(), cycle.end());
  std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
  return cycle;
}

}  // namespace

std::vector<TaskId> find_cycle(size_t tasks, std::span<const Link> links) {
  return cycle_in(tasks, rows_of(tasks, links));
}

Result<TaskGraph> make_task_graph(std::vector<Task> tasks, std::span<const Link> links) {
  if (tasks.size() >= (size_t{1} << 31))
    return user_error("{} tasks: expected less than 2^31", tasks.size());
  CLEAVE_CHECK(check_sizes(tasks));
  for (const Link& l : links)
    if (l.first >= tasks.size() || l.second >= tasks.size())
      return user_error("a link from task {} to {}: there are {} tasks", l.first, l.second,
                        tasks.size());
  TaskGraph g = rows_of(tasks.size(), links);
  if (const std::vector<TaskId> cycle = cycle_in(tasks.size(), g); !cycle.empty()) {
    std::string text;
    for (size_t i = 0; i < cycle.size() && i < 8; ++i) text += fmt::format("{} -> ", cycle[i]);
    return user_error("tasks {}{}{} form a cycle; a task may not need itself", text,
                      cycle.size() > 8 ? "... -> " : "", cycle[0]);
  }
  g.tasks = std::move(tasks);
  return g;
}

std::vector<TaskId> first_order(const TaskGraph& graph) {
  std::vector<uint32_t> open(graph.size());
  std::priority_queue<TaskId, std::vector<TaskId>, std::greater<>> ready;
  std::vector<TaskId> order;
  order.reserve(graph.size());
  for (TaskId v = 0; v < graph.size(); ++v) {
    open[v] = static_cast<uint32_t>(graph.operands(v).size());
    if (open[v] == 0) ready.push(v);
  }
  while (!ready.empty()) {
    const TaskId v = ready.top();
    ready.pop();
    order.push_back(v);
    for (TaskId u : graph.users(v))
      if (--open[u] == 0) ready.push(u);
  }
  return order;
}

}  // namespace cleave::plan
