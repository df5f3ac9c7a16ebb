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
    if (t.bytes < 0 || t.workspace < -t.bytes || t.time < 0)
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

// The second of each link by its first, or the other way round.
Rows rows_of(size_t count, const std::vector<Link>& links, bool by_first) {
  Rows rows;
  rows.begin.assign(count + 1, 0);
  rows.to.resize(links.size());
  for (const Link& l : links) ++rows.begin[(by_first ? l.first : l.second) + 1];
  for (size_t v = 0; v < count; ++v) rows.begin[v + 1] += rows.begin[v];
  std::vector<size_t> at(rows.begin.begin(), rows.begin.end() - 1);
  for (const Link& l : links)
    rows.to[at[by_first ? l.first : l.second]++] = by_first ? l.second : l.first;
  return rows;
}

std::vector<Link> each_once(std::vector<Link> links) {
  std::sort(links.begin(), links.end());
  links.erase(std::unique(links.begin(), links.end()), links.end());
  return links;
}

// Of tasks that make one value each.
TaskGraph linked(size_t tasks, std::span<const Link> links) {
  const std::vector<Link> sorted = each_once({links.begin(), links.end()});
  TaskGraph g;
  g.readers = rows_of(tasks, sorted, true);
  g.reads = rows_of(tasks, sorted, false);
  return g;
}

// Of tasks that make several.
void link_several(TaskGraph& g, size_t tasks, std::span<const Link> links) {
  const std::vector<Link> sorted = each_once({links.begin(), links.end()});
  g.readers = rows_of(g.values.size(), sorted, true);
  g.reads = rows_of(tasks, sorted, false);
  std::vector<Link> of_tasks;
  of_tasks.reserve(sorted.size());
  for (const Link& l : sorted) of_tasks.emplace_back(g.values[l.first].maker, l.second);
  of_tasks = each_once(std::move(of_tasks));
  g.later = rows_of(tasks, of_tasks, true);
  g.earlier = rows_of(tasks, of_tasks, false);
  for (ValueId x = 0; x < g.values.size(); ++x)
    if (x == 0 || g.values[x].maker != g.values[x - 1].maker) g.first.push_back(x);
  g.first.push_back(static_cast<ValueId>(g.values.size()));
}

// The tasks that remain after repeatedly removing all without open operands.
std::vector<uint32_t> open_operands_after_sweep(size_t tasks, const TaskGraph& g) {
  std::vector<uint32_t> open(tasks);
  std::vector<TaskId> ready;
  for (TaskId v = 0; v < tasks; ++v) {
    open[v] = static_cast<uint32_t>(g.before(v).size());
    if (open[v] == 0) ready.push_back(v);
  }
  while (!ready.empty()) {
    const TaskId v = ready.back();
    ready.pop_back();
    for (TaskId u : g.after(v))
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
    for (TaskId u : g.before(v))
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

Status check_links(size_t tasks, size_t values, std::span<const Link> links) {
  if (tasks >= (size_t{1} << 31) || values >= (size_t{1} << 31))
    return user_error("{} tasks: expected less than 2^31", std::max(tasks, values));
  for (const Link& l : links)
    if (l.first >= values || l.second >= tasks)
      return user_error("a link from {} {} to {}: there are {} {}",
                        tasks == values ? "task" : "value", l.first, l.second,
                        l.first >= values ? values : tasks,
                        l.first >= values && tasks != values ? "values" : "tasks");
  return {};
}

Status check_cycle(size_t tasks, const TaskGraph& g) {
  const std::vector<TaskId> cycle = cycle_in(tasks, g);
  if (cycle.empty()) return {};
  std::string text;
  for (size_t i = 0; i < cycle.size() && i < 8; ++i) text += fmt::format("{} -> ", cycle[i]);
  return user_error("tasks {}{}{} form a cycle; a task may not need itself", text,
                    cycle.size() > 8 ? "... -> " : "", cycle[0]);
}

// The values in the order of their makers, of each task at least one.
Status check_makers(size_t tasks, const std::vector<Value>& values) {
  TaskId next = 0;
  for (ValueId x = 0; x < values.size(); ++x) {
    if (values[x].bytes < 0)
      return user_error("value {}: bytes {}: expected none below 0", x, values[x].bytes);
    if (values[x].bytes > largest_sum)
      return user_error("value {}: the sums of bytes must stay below 2^50; use larger units", x);
    if (values[x].maker == next)
      ++next;
    else if (x == 0 || values[x].maker != values[x - 1].maker)
      return user_error("value {} of task {}: expected one of task {}", x, values[x].maker, next);
  }
  if (next == tasks) return {};
  return user_error("{} tasks, but values of {}", tasks, next);
}

}  // namespace

std::vector<TaskId> find_cycle(size_t tasks, std::span<const Link> links) {
  return cycle_in(tasks, linked(tasks, links));
}

Result<TaskGraph> make_task_graph(std::vector<Task> tasks, std::span<const Link> links) {
  CLEAVE_CHECK(check_links(tasks.size(), tasks.size(), links));
  CLEAVE_CHECK(check_sizes(tasks));
  TaskGraph g = linked(tasks.size(), links);
  CLEAVE_CHECK(check_cycle(tasks.size(), g));
  g.values.reserve(tasks.size());
  for (TaskId v = 0; v < tasks.size(); ++v)
    g.values.push_back({v, tasks[v].kept, false, tasks[v].bytes});
  g.tasks = std::move(tasks);
  return g;
}

Result<TaskGraph> make_task_graph(std::vector<Task> tasks, std::vector<Value> values,
                                  std::span<const Link> links) {
  CLEAVE_CHECK(check_links(tasks.size(), values.size(), links));
  CLEAVE_CHECK(check_makers(tasks.size(), values));
  TaskGraph g;
  if (tasks.size() == values.size()) g = linked(tasks.size(), links);
  g.values = std::move(values);
  if (tasks.size() != g.values.size()) link_several(g, tasks.size(), links);
  CLEAVE_CHECK(check_cycle(tasks.size(), g));
  for (Task& t : tasks) t.bytes = 0, t.kept = false;
  for (ValueId x = 0; x < g.values.size(); ++x) {
    Value& value = g.values[x];
    if (value.optional && !value.kept && g.users(x).empty()) value.bytes = 0;
    Task& maker = tasks[value.maker];
    if (value.bytes > largest_sum - maker.bytes)
      return user_error("task {}: the sums of bytes must stay below 2^50; use larger units",
                        value.maker);
    maker.bytes += value.bytes;
    maker.kept = maker.kept || value.kept;
  }
  CLEAVE_CHECK(check_sizes(tasks));
  g.tasks = std::move(tasks);
  return g;
}

std::vector<TaskId> first_order(const TaskGraph& graph) {
  std::vector<uint32_t> open(graph.size());
  std::priority_queue<TaskId, std::vector<TaskId>, std::greater<>> ready;
  std::vector<TaskId> order;
  order.reserve(graph.size());
  for (TaskId v = 0; v < graph.size(); ++v) {
    open[v] = static_cast<uint32_t>(graph.before(v).size());
    if (open[v] == 0) ready.push(v);
  }
  while (!ready.empty()) {
    const TaskId v = ready.top();
    ready.pop();
    order.push_back(v);
    for (TaskId u : graph.after(v))
      if (--open[u] == 0) ready.push(u);
  }
  return order;
}

}  // namespace cleave::plan
