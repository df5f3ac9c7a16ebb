// Plans with recomputations for random layered graphs (bench/graphs/layered_tasks.h) of 250 to
// 2,000 tasks: overhead, how far it is above the certified bound, and the time. Last, chains of
// equal layers and their backward, of up to 100,000 tasks.
//
//   bench_layered_recompute [GRAPHS] [FOLDER]     of each size; default 3
//
// The limits are 90, 80 and 70% of the given order's peak. With FOLDER, the graphs are written
// there too, for `cleave remat` and bench/peer_remat.py. Medians are of the plans that are within
// the limit; a plan that takes over 5 s (the longest chain's: 25 s) is marked, and the exit status
// is then 1. Time is the thread's processor time.
#include <fmt/format.h>
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>

#include "bench/graphs/layered_tasks.h"
#include "bench/timing.h"
#include "plan/recompute.h"
#include "plan/simulate.h"

namespace cleave::bench {
namespace {

constexpr double most_seconds = 5;

void write(const LayeredTasks& t, const std::string& path) {
  std::string text = "{\"nodes\": [";
  for (plan::TaskId v = 0; v < t.graph.size(); ++v)
    text += fmt::format("{}{{\"name\": {}, \"out_cost\": {}, \"duration\": {}}}", v ? ", " : "", v,
                        t.graph[v].bytes, t.graph[v].time);
  text += "], \"links\": [";
  bool first = true;
  for (plan::TaskId v = 0; v < t.graph.size(); ++v)
    for (const plan::ValueId x : t.graph.operands(v)) {
      text += fmt::format("{}{{\"0\": {}, \"1\": {}}}", first ? "" : ", ", x, v);
      first = false;
    }
  text += fmt::format("], \"graph\": {{\"order\": [{}]}}}}\n", fmt::join(t.order, ", "));
  std::ofstream(path) << text;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

bool measure(size_t tasks, int percent, const std::vector<LayeredTasks>& graphs,
             double most = most_seconds) {
  std::vector<double> overhead, above, seconds;
  for (const LayeredTasks& t : graphs) {
    const int64_t peak = value_or_throw(simulate(t.graph, t.order)).peak;
    const double begin = thread_seconds();
    const plan::RecomputePlan made =
        value_or_throw(plan_recompute(t.graph, t.order, peak * percent / 100));
    seconds.push_back(thread_seconds() - begin);
    if (!made.found.met) continue;
    overhead.push_back(value_or_throw(simulate(t.graph, made.found.tasks)).overhead_percent());
    above.push_back(overhead.back() - made.percent(made.bound_time));
  }
  const double worst = *std::max_element(seconds.begin(), seconds.end());
  fmt::print("{:>6}{:>5}%{:>5} of {:<3}{:>10.3f}%{:>12.3f}{:>10.3f}{:>9.2f}{:>9.2f}{}\n", tasks,
             percent, overhead.size(), graphs.size(), median(overhead), median(above),
             above.empty() ? 0.0 : *std::max_element(above.begin(), above.end()), median(seconds),
             worst, worst <= most ? "" : " OVER");
  return worst <= most;
}

// Task k reads k - 1; their backward tasks read in reverse order the one after and both.
LayeredTasks chain(size_t tasks) {
  std::vector<plan::Task> all(tasks, {.bytes = 1000, .time = 100});
  std::vector<plan::Link> links;
  const auto half = static_cast<plan::TaskId>(tasks / 2);
  for (plan::TaskId k = 1; k < 2 * half; ++k) links.emplace_back(k - 1, k);
  for (plan::TaskId k = 1; k < half; ++k) links.emplace_back(half - 1 - k, half + k);
  LayeredTasks out{value_or_throw(plan::make_task_graph(std::move(all), links)), {}};
  out.order = plan::first_order(out.graph);
  return out;
}

bool run(int count, const std::string& folder) {
  bool in_time = true;
  fmt::print("{:>6}{:>6}{:>11}{:>11}{:>12}{:>10}{:>9}{:>9}\n", "tasks", "limit", "met", "overhead",
             "over bound", "worst", "s", "worst");
  for (const size_t tasks : {250, 500, 1000, 2000}) {
    std::vector<LayeredTasks> graphs;
    for (int seed = 1; seed <= count; ++seed) {
      graphs.push_back(layered_tasks(tasks, static_cast<uint64_t>(seed)));
      if (!folder.empty())
        write(graphs.back(), fmt::format("{}/layered_{}_{}.json", folder, tasks, seed));
    }
    for (const int percent : {90, 80, 70}) in_time &= measure(tasks, percent, graphs);
  }
  for (const size_t tasks : {1000, 10000, 100000})
    in_time &= measure(tasks, 50, {chain(tasks)}, tasks > 10000 ? 25 : most_seconds);
  return in_time;
}

}  // namespace
}  // namespace cleave::bench

int main(int argc, char** argv) {
  try {
    return cleave::bench::run(argc > 1 ? std::max(1, std::atoi(argv[1])) : 3,
                              argc > 2 ? argv[2] : "")
               ? 0
               : 1;
  } catch (const cleave::Error& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
}
