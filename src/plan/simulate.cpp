#include "plan/simulate.h"

#include <algorithm>

namespace cleave::plan {
namespace {

constexpr size_t never = SIZE_MAX;

// For each step, how many later steps read the copy that it makes.
Result<std::vector<size_t>> count_reads(const TaskGraph& graph, std::span<const TaskId> sequence) {
  std::vector<size_t> reads(sequence.size(), 0), made_at(graph.size(), never);
  for (size_t step = 0; step < sequence.size(); ++step) {
    const TaskId task = sequence[step];
    if (task >= graph.size())
      return user_error("step {}: there is no task {}, only {}", step, task, graph.size());
    for (TaskId operand : graph.operands(task)) {
      if (made_at[operand] == never)
        return user_error("step {}: task {} reads task {}, which has not run yet", step, task,
                          operand);
      ++reads[made_at[operand]];
    }
    if (graph[task].once && made_at[task] != never)
      return user_error("step {}: task {} runs again, which it must not", step, task);
    made_at[task] = step;
  }
  for (TaskId task = 0; task < graph.size(); ++task)
    if (made_at[task] == never) return user_error("task {} never runs", task);
  return reads;
}

}  // namespace

Result<Simulated> simulate(const TaskGraph& graph, std::span<const TaskId> sequence) {
  CLEAVE_TRY(std::vector<size_t> reads, count_reads(graph, sequence));
  Simulated result;
  for (const Task& t : graph.tasks) result.time_once += t.time;
  std::vector<size_t> made_at(graph.size(), never), runs_left(graph.size(), 0);
  for (TaskId task : sequence) ++runs_left[task];
  result.bytes_at.reserve(sequence.size());
  int64_t in_memory = 0;
  for (size_t step = 0; step < sequence.size(); ++step) {
    const TaskId task = sequence[step];
    const Task& t = graph[task];
    result.time += t.time;
    in_memory += t.bytes;
    const int64_t now = in_memory + t.workspace;
    result.bytes_at.push_back(now);
    if (now > result.peak) result.peak = now, result.peak_step = step;
    for (TaskId operand : graph.operands(task))
      if (--reads[made_at[operand]] == 0 && !(graph[operand].kept && runs_left[operand] == 0))
        in_memory -= graph[operand].bytes;
    made_at[task] = step;
    if (--runs_left[task], reads[step] == 0 && !(t.kept && runs_left[task] == 0))
      in_memory -= t.bytes;
  }
  return result;
}

}  // namespace cleave::plan
