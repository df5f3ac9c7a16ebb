// Small random graphs for the planners' tests.
#pragma once
#include "plan/split_mix.h"
#include "plan/task_graph.h"

namespace cleave::plan {

struct RandomShape {
  uint32_t tasks = 6, percent = 40, max_bytes = 9, max_time = 5;
  bool workspace = false, kept = false, once = false;
  uint32_t most_values = 1;  // of a task; some of several are optional
};

inline Task random_task(SplitMix& random, const RandomShape& shape) {
  Task t;
  t.bytes = random.below(shape.max_bytes + 1);
  t.time = random.below(shape.max_time + 1);
  if (shape.workspace && random.below(3) == 0) t.workspace = random.below(shape.max_bytes + 1);
  t.kept = shape.kept && random.below(5) == 0;
  t.once = shape.once && random.below(4) == 0;
  return t;
}

// Links of tasks as links of values: a reader reads one of the maker's values or more.
inline TaskGraph with_several_values(SplitMix& random, const RandomShape& shape,
                                     std::vector<Task> tasks, const std::vector<Link>& links) {
  std::vector<Value> values;
  std::vector<ValueId> first;
  for (TaskId v = 0; v < tasks.size(); ++v) {
    first.push_back(static_cast<ValueId>(values.size()));
    for (uint32_t n = 1 + random.below(shape.most_values); n > 0; --n)
      values.push_back({v, shape.kept && random.below(6) == 0, random.below(3) > 0,
                        random.below(shape.max_bytes + 1)});
    if (values.size() - first[v] == 1) values.back().optional = false;
  }
  first.push_back(static_cast<ValueId>(values.size()));
  std::vector<Link> reads;
  for (const auto& [from, to] : links)
    for (uint32_t n = 1 + random.below(2); n > 0; --n)
      reads.emplace_back(first[from] + random.below(first[from + 1] - first[from]), to);
  return value_or_throw(make_task_graph(std::move(tasks), std::move(values), reads));
}

// Each pair of tasks is linked with the probability given; numbers are shuffled, so that the order
// by number isn't always a good one.
inline TaskGraph random_graph(SplitMix& random, const RandomShape& shape) {
  std::vector<Task> tasks;
  std::vector<TaskId> name;
  for (TaskId v = 0; v < shape.tasks; ++v) {
    tasks.push_back(random_task(random, shape));
    name.push_back(v);
    std::swap(name[v], name[random.below(v + 1)]);
  }
  std::vector<Link> links;
  for (TaskId v = 0; v < shape.tasks; ++v)
    for (TaskId u = 0; u < v; ++u)
      if (random.below(100) < shape.percent) links.emplace_back(name[u], name[v]);
  if (shape.most_values > 1) return with_several_values(random, shape, std::move(tasks), links);
  return value_or_throw(make_task_graph(std::move(tasks), links));
}

}  // namespace cleave::plan
