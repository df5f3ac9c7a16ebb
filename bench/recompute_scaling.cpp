// Orders with the lowest peak at 1,000 to 1,000,000 tasks, and plans with recomputations at 1,000
// to 100,000, for training steps made of the random graphs of bench/graphs, with a limit for each
// size. A line over its limit is marked, and the exit status is then 1.
//
//   bench_recompute_scaling [LARGEST] [PERCENT]      default 1000000 70
//
// A step: the forward calls (views are part of their base), then a backward task for each, which
// reads the backward tasks of its readers and what the gradient needs of operands and result, makes
// gradients as large as the operands, and takes twice the time. The plan's limit is PERCENT of the
// given order's peak; beside its overhead stand the certified bounds (any order, given order). Time
// is that of the thread (other programs on the machine don't count), the least of several runs.
#include <fmt/format.h>
#include <algorithm>
#include <cstdlib>

#include "bench/graphs/random_graph.h"
#include "bench/timing.h"
#include "plan/order.h"
#include "plan/recompute.h"
#include "plan/simulate.h"

namespace cleave::bench {
namespace {

using flow::ForwardGraph;
using plan::Link;
using plan::Task;
using plan::TaskGraph;
using plan::TaskId;

struct Limits {
  size_t tasks;
  double order_ms, plan_s;
  int runs;
};
constexpr Limits limits[] = {
    {1000, 1, 5, 20}, {10000, 12, 3, 10}, {100000, 150, 25, 3}, {1000000, 2000, 0, 2}};

constexpr TaskId nothing = UINT32_MAX;

class StepMaker {
 public:
  explicit StepMaker(const ForwardGraph& forward)
      : f_(forward), task_of_(static_cast<size_t>(forward.values()), nothing) {}

  TaskGraph make() {
    for (int32_t c = 0; c < f_.calls(); ++c) add_forward(c);
    forward_ = tasks_.size();
    loss_ = add({4, 0, 1});
    for (TaskId v = 0; v < forward_; ++v)
      if (readers_[v].empty()) links_.emplace_back(v, loss_);
    std::vector<TaskId> backward(forward_);
    for (auto v = static_cast<TaskId>(forward_); v-- > 0;) backward[v] = add_backward(v, backward);
    return value_or_throw(plan::make_task_graph(std::move(tasks_), links_));
  }

 private:
  TaskId add(Task t) {
    tasks_.push_back(t);
    return static_cast<TaskId>(tasks_.size() - 1);
  }

  void add_forward(int32_t c) {
    const auto call = static_cast<size_t>(c);
    std::vector<TaskId> reads, needs;
    for (int32_t i = f_.operand_begin[call]; i < f_.operand_begin[call + 1]; ++i) {
      const auto value = static_cast<size_t>(f_.operand[static_cast<size_t>(i)]);
      if (task_of_[value] == nothing) continue;
      reads.push_back(task_of_[value]);
      if (f_.needed[value]) needs.push_back(task_of_[value]);
    }
    const bool view = f_.cost[call] == 0;
    TaskId v = nothing;
    if (!view)
      v = add({0, 0, f_.cost[call]});
    else if (!reads.empty())
      v = reads[0];
    for (int32_t r = f_.result_begin[call]; r < f_.result_begin[call + 1]; ++r) {
      const auto value = static_cast<size_t>(r);
      task_of_[value] = v;
      if (view) continue;
      tasks_[v].bytes += f_.bytes[value];
      if (f_.needed[value]) needs.push_back(v);
    }
    if (view) return;
    readers_.emplace_back();
    for (TaskId x : reads) {
      links_.emplace_back(x, v);
      readers_[x].push_back(v);
    }
    reads_.push_back(std::move(reads));
    needs_.push_back(std::move(needs));
  }

  TaskId add_backward(TaskId v, const std::vector<TaskId>& backward) {
    Task t{0, 0, 2 * tasks_[v].time};
    for (TaskId x : reads_[v]) t.bytes += tasks_[x].bytes;
    const TaskId b = add(t);
    for (TaskId u : readers_[v]) links_.emplace_back(backward[u], b);
    if (readers_[v].empty()) links_.emplace_back(loss_, b);
    for (TaskId x : needs_[v]) links_.emplace_back(x, b);
    return b;
  }

  const ForwardGraph& f_;
  std::vector<TaskId> task_of_;  // by value
  std::vector<Task> tasks_;
  std::vector<Link> links_;
  std::vector<std::vector<TaskId>> reads_, readers_, needs_;  // by forward task
  size_t forward_ = 0;
  TaskId loss_ = nothing;
};

bool measure(GraphKind kind, const Limits& limit, int percent) {
  const auto calls =
      static_cast<int32_t>(limit.tasks) * (kind == GraphKind::transformer ? 10 : 8) / 16;
  const TaskGraph g = StepMaker(random_graph(kind, calls)).make();
  const std::vector<TaskId> given = plan::first_order(g);
  const int64_t peak = value_or_throw(simulate(g, given)).peak;
  double ms = 1e300;
  plan::Order order;
  for (int run = 0; run < limit.runs; ++run) {
    const double begin = thread_seconds();
    order = plan::min_peak_order(g, given);
    ms = std::min(ms, (thread_seconds() - begin) * 1e3);
  }
  bool in_time = ms <= limit.order_ms;
  fmt::print(
      "{:<12}{:>9}  order {:>8.2f} ms ({} ms{}), {:>5.1f}% of the given peak, none below {:.1f}%",
      name_of(kind), g.size(), ms, limit.order_ms, in_time ? "" : ", OVER",
      100.0 * static_cast<double>(order.peak) / static_cast<double>(peak),
      100.0 * static_cast<double>(order.lower_bound) / static_cast<double>(peak));
  if (limit.plan_s > 0) {
    const double begin = thread_seconds();
    const plan::RecomputePlan made = value_or_throw(plan_recompute(g, given, peak / 100 * percent));
    const double s = thread_seconds() - begin;
    const plan::Simulated checked = value_or_throw(simulate(g, made.found.tasks));
    fmt::print("; plan {:.2f} s ({} s{}), {} {:.3f}% (bounds {:.3f}, {:.3f}), peak {:.1f}%", s,
               limit.plan_s, s <= limit.plan_s ? "" : ", OVER",
               made.found.met ? "met," : "NOT met,", checked.overhead_percent(),
               made.percent(made.bound_time), made.percent(made.bound_given_time),
               100.0 * static_cast<double>(checked.peak) / static_cast<double>(peak));
    in_time = in_time && s <= limit.plan_s;
  }
  fmt::print("\n");
  return in_time;
}

bool run(size_t largest, int percent) {
  bool in_time = true;
  for (const Limits& limit : limits)
    for (const GraphKind kind : graph_kinds)
      if (limit.tasks <= largest) in_time = measure(kind, limit, percent) && in_time;
  return in_time;
}

}  // namespace
}  // namespace cleave::bench

int main(int argc, char** argv) {
  try {
    const long largest = argc > 1 ? std::atol(argv[1]) : 1000000;
    const int percent = argc > 2 ? std::max(1, std::atoi(argv[2])) : 70;
    return cleave::bench::run(static_cast<size_t>(std::max(0L, largest)), percent) ? 0 : 1;
  } catch (const cleave::Error& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
}
