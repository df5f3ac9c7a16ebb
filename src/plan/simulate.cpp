#include "plan/simulate.h"

#include <algorithm>

namespace cleave::plan {
namespace {

constexpr size_t never = SIZE_MAX;

// The values that each run may make, and how many later runs read them from it.
struct Reads {
  std::vector<size_t> begin;  // by position
  std::vector<size_t> count;  // of the run's values, in their order
};

Result<Reads> count_reads(const TaskGraph& graph, std::span<const TaskId> sequence) {
  Reads reads;
  std::vector<size_t> made_at(graph.size(), never);
  for (size_t position = 0; position < sequence.size(); ++position) {
    const TaskId task = sequence[position];
    if (task >= graph.size())
      return user_error("position {}: there is no task {}, only {}", position, task, graph.size());
    for (const ValueId operand : graph.operands(task)) {
      const TaskId maker = graph.maker(operand);
      if (made_at[maker] == never)
        return user_error("position {}: task {} reads task {}, which has not run yet", position,
                          task, maker);
      ++reads.count[reads.begin[made_at[maker]] + operand - graph.first_value(maker)];
    }
    if (graph[task].once && made_at[task] != never)
      return user_error("position {}: task {} runs again, which it must not", position, task);
    made_at[task] = position;
    reads.begin.push_back(reads.count.size());
    reads.count.resize(reads.count.size() + graph.made_by(task).size(), 0);
  }
  for (TaskId task = 0; task < graph.size(); ++task)
    if (made_at[task] == never) return user_error("task {} never runs", task);
  return reads;
}

}  // namespace

Result<Simulated> simulate(const TaskGraph& graph, std::span<const TaskId> sequence) {
  CLEAVE_TRY(Reads reads, count_reads(graph, sequence));
  Simulated result;
  for (const Task& t : graph.tasks) result.time_once += t.time;
  std::vector<size_t> made_at(graph.size(), never), runs_left(graph.size(), 0);
  for (TaskId task : sequence) ++runs_left[task];
  result.bytes_at.reserve(sequence.size());
  int64_t in_memory = 0;
  for (size_t position = 0; position < sequence.size(); ++position) {
    const TaskId task = sequence[position];
    result.time += graph[task].time;
    made_at[task] = position;
    --runs_left[task];
    int64_t unread = 0;
    for (const ValueId x : graph.made_by(task)) {
      const Value& value = graph.values[x];
      const bool stays = value.kept && runs_left[task] == 0;
      const bool is_read = reads.count[reads.begin[position] + x - graph.first_value(task)] > 0;
      if (!is_read && !stays && value.optional) continue;
      in_memory += value.bytes;
      if (!is_read && !stays) unread += value.bytes;
    }
    const int64_t now = in_memory + graph[task].workspace;
    result.bytes_at.push_back(now);
    if (now > result.peak) result.peak = now, result.peak_position = position;
    in_memory -= unread;
    for (const ValueId operand : graph.operands(task)) {
      const TaskId maker = graph.maker(operand);
      const size_t at = reads.begin[made_at[maker]] + operand - graph.first_value(maker);
      if (--reads.count[at] == 0 && !(graph.values[operand].kept && runs_left[maker] == 0))
        in_memory -= graph.values[operand].bytes;
    }
  }
  return result;
}

}  // namespace cleave::plan
