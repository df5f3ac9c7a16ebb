// Small random graphs for the planners' tests.
#pragma once
#include "plan/split_mix.h"
#include "plan/task_graph.h"

namespace cleave::plan {

struct RandomShape {
  uint32_t tasks = 6, percent = 40, max_bytes = 9, max_time = 5;
  bool workspace = false, kept = false, once = false;
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
  return value_or_throw(make_task_graph(std::move(tasks), links));
}

}  // namespace cleave::plan
