// Least-peak orders and plans with recomputations at 1,000 to 100,000 tasks (orders to 1,000,000):
// seconds of this thread, peaks against the given order's, overheads and their certified bounds.
//
//   bench_recompute_scaling [LARGEST] [PERCENT]      default 100000 70
//
// Graphs: `transformer` is a chain of layers with residual links and a backward half that reads the
// forward values; `layered` has 16 tasks a layer, each reading 1 to 3 of the layer before and one of
// an earlier one; `wide` reads 1 to 3 of the last 500 tasks.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <functional>

#include "plan/order.h"
#include "plan/recompute.h"
#include "plan/simulate.h"
#include "plan/split_mix.h"

namespace cleave::plan {
namespace {

double thread_s() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

struct Made {
  std::vector<Task> tasks;
  std::vector<Link> links;
  TaskId add(int64_t bytes, int64_t time, std::vector<TaskId> operands) {
    const auto v = static_cast<TaskId>(tasks.size());
    tasks.push_back({bytes, 0, time});
    for (TaskId x : operands) links.emplace_back(x, v);
    return v;
  }
};

// norm, qkv, attention, projection, add, norm, up, gelu, down, add; the backward of each reads its
// operand's value and the gradient behind it.
Made transformer(size_t size) {
  Made g;
  const int64_t width[] = {4, 12, 4, 4, 4, 4, 16, 16, 4, 4};
  const int64_t time[] = {2, 30, 40, 10, 1, 2, 40, 4, 40, 1};
  std::vector<TaskId> forward{g.add(4, 1, {})};
  TaskId skip = forward[0];
  for (size_t i = 0; 2 * g.tasks.size() + 20 < size; ++i) {
    const size_t k = i % 10;
    std::vector<TaskId> reads{forward.back()};
    if ((k == 4 || k == 9) && skip != forward.back()) reads.push_back(skip);
    forward.push_back(g.add(width[k], time[k], reads));
    if (k == 4 || k == 9) skip = forward.back();
  }
  TaskId gradient = g.add(4, 1, {forward.back()});
  for (size_t i = forward.size() - 1; i > 0; --i) {
    const size_t k = (i - 1) % 10;
    gradient = g.add(k == 0 ? 4 : width[k - 1], 2 * time[k], {gradient, forward[i - 1]});
  }
  return g;
}

Made layered(size_t size, SplitMix& random) {
  Made g;
  constexpr uint32_t width = 16;
  while (g.tasks.size() < size) {
    const auto v = static_cast<TaskId>(g.tasks.size());
    const TaskId begin = v / width * width;
    std::vector<TaskId> reads;
    if (begin > 0) {
      for (uint32_t n = 1 + random.below(3); n > 0; --n)
        reads.push_back(begin - width + random.below(width));
      if (random.below(7) == 0)
        reads.push_back(begin - std::min(begin, 1 + random.below(8 * width)));
    }
    g.add(1 + random.below(5000), random.below(1000), reads);
  }
  return g;
}

Made wide(size_t size, SplitMix& random) {
  Made g;
  while (g.tasks.size() < size) {
    const auto v = static_cast<TaskId>(g.tasks.size());
    std::vector<TaskId> reads;
    for (uint32_t n = v == 0 ? 0 : 1 + random.below(3); n > 0; --n)
      reads.push_back(v - 1 - random.below(std::min<uint32_t>(v, 500)));
    g.add(1 + random.below(5000), random.below(1000), reads);
  }
  return g;
}

void measure(const char* name, const Made& made, int percent, bool recompute) {
  const TaskGraph g = value_or_throw(make_task_graph(made.tasks, made.links));
  const std::vector<TaskId> given = first_order(g);
  const int64_t peak = value_or_throw(simulate(g, given)).peak;
  double least = 1e300;
  Order order;
  for (int runs = g.size() <= 10000 ? 5 : 2; runs > 0; --runs) {
    const double begin = thread_s();
    order = least_peak_order(g, given);
    least = std::min(least, thread_s() - begin);
  }
  fmt::print("{:<12}{:>9}  order {:>9.2f} ms, {:>5.1f}% of the given peak", name, g.size(),
             least * 1e3, 100.0 * static_cast<double>(order.peak) / static_cast<double>(peak));
  if (recompute) {
    const double begin = thread_s();
    const RecomputePlan plan =
        value_or_throw(plan_recompute(g, given, std::min(order.peak, peak) / 100 * percent));
    const double s = thread_s() - begin;
    const Simulated checked = value_or_throw(simulate(g, plan.found.steps));
    fmt::print("; at {}% of that: {} {:.3f}% (bounds {:.3f}, {:.3f}), peak {:.1f}%, {:.2f} s",
               percent, plan.found.met ? "met," : "NOT met,", checked.overhead_percent(),
               plan.percent(plan.bound_time), plan.percent(plan.bound_given_time),
               100.0 * static_cast<double>(checked.peak) / static_cast<double>(order.peak), s);
  }
  fmt::print("\n");
}

void run(size_t largest, int percent) {
  for (size_t n = 1000; n <= largest; n *= 10) {
    SplitMix random(1);
    measure("transformer", transformer(n), percent, n <= 100000);
    measure("layered", layered(n, random), percent, n <= 100000);
    measure("wide", wide(n, random), percent, n <= 100000);
  }
}

}  // namespace
}  // namespace cleave::plan

int main(int argc, char** argv) {
  try {
    cleave::plan::run(argc > 1 ? static_cast<size_t>(std::max(1000L, std::atol(argv[1]))) : 100000,
                      argc > 2 ? std::max(1, std::atoi(argv[2])) : 70);
  } catch (const cleave::Error& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
}
