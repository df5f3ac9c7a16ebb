// Random layered task graphs like those that Moccasin is measured with (Bartan et al., ICML 2023;
// made as in Gagrani et al., "Neural topological ordering for computation graphs", NeurIPS 2022).
//
//   source -> layer 1 -> layer 2 -> ... -> last layer -> sink
//               \__________________^ links that skip layers
//
// The published names carry the parameters (w 0.27 to 0.43, nlv 0.75, ed 0.2, scd 0.14); how sizes
// follow from them is fitted to the four published graphs:
//   layers   2 w sqrt(n) tasks in the mean, uniform within nlv of that
//   links    each pair of tasks of neighbouring layers with probability ed; a task without one
//            reads or is read by a random one; scd of all links skip layers, between random tasks
//   bytes    multiples of 10, about exponential with mean 2,000, at most 7,500
//   time     uniform in [0, 1,000)
#pragma once
#include "plan/task_graph.h"

namespace cleave::bench {

struct LayeredTasks {
  plan::TaskGraph graph;
  std::vector<plan::TaskId> order;  // random: each time one of the tasks that can run
};

// About `tasks` of them. The same for the same seed on every machine.
LayeredTasks layered_tasks(size_t tasks, uint64_t seed, double width = 0.31);

}  // namespace cleave::bench
