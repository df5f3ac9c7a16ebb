// A whole program as tasks with memory (plan/task_graph.h), and programs from sequences of tasks.
//
//   graph ─► lowered once ─► ProgramCalls: what each node reads, makes and needs while it runs
//                                 ▼
//                            ProgramTasks ─► plan: orders, sequences that run tasks again
//                                 ▼
//   graph whose nodes stand in a sequence's order, nodes that run again standing there again
//
//   task      a node that runs, with a value for each of its storages that others read or that is
//             returned; a run makes those of its results that are wanted
//   views     take no memory and no task: they are made anew in front of their readers
//   in place  an update that is written over its placeholder takes no memory, but must come after
//             every other reader of the placeholder and after every call that may fail: tasks of 0
//             bytes in between say so
//
// Sizes in bytes, each value's rounded up to 64.
#pragma once
#include <unordered_map>

#include "cut/call_cost.h"
#include "plan/task_graph.h"

namespace cleave {

struct ProgramCalls {
  struct Storage {
    int64_t bytes = 0;
    ValueId value = {};        // that it was made for; none where it isn't a result of its node
    bool placeholder = false;  // then it takes no memory of the program's own
    bool kept = false;         // it lives to the end
    bool update = false;       // copied into a placeholder at the end, or in place in another order
    bool part = false;         // of another storage here, which no call makes
    bool optional = false;     // its call leaves it out where nothing reads it
  };
  struct Call {
    NodeId node;
    int64_t workspace = 0;         // memory that only its own thunks use, at the most
    int64_t at_least = 0;          // in memory at one of its thunks in every order
    int64_t over = 0;              // bytes of what it makes over an operand that it reads last
    std::vector<int32_t> reads;    // storages that were there before
    std::vector<int32_t> makes;    // storages that others read, or that are returned
    std::vector<int32_t> updates;  // placeholders' storages that it writes over
    bool may_fail = false;
  };
  std::vector<Storage> storages;
  std::vector<Call> calls;    // in the graph's order; nodes without thunks are left out
  int64_t copied_at_end = 0;  // bytes of what is copied to be returned
  int64_t placeholder_bytes = 0;
};

class ProgramTasks {
 public:
  // Both must outlive it. Errors: those of make_task_graph.
  static Result<ProgramTasks> make(const Graph& graph, const ProgramCalls& program,
                                   const MachineRates& rates);

  const plan::TaskGraph& tasks() const { return tasks_; }
  // The graph's own order.
  const std::vector<plan::TaskId>& given() const { return given_; }
  // No program takes less than this beside its placeholders; and what binds it.
  struct Bound {
    int64_t bytes = 0;
    std::string by;
  };
  Bound lower_bound() const;
  // Without the runs of which nobody reads a value before the next run of the same task.
  std::vector<plan::TaskId> needed(const std::vector<plan::TaskId>& sequence) const;
  // The positions above `limit` bytes of runs that make several results, which may get a run each:
  // lowering may put one alone over an operand.
  std::vector<size_t> divisible(const std::vector<plan::TaskId>& sequence, int64_t limit) const;
  // The program that runs the sequence, which must be all needed, with the divisible positions
  // `apart` as a node for each result. Error (bug): a task before an operand.
  Result<Graph> program(const std::vector<plan::TaskId>& sequence,
                        const std::vector<size_t>& apart = {}) const;
  // What the sequence's program runs longer than the graph: nodes that stand twice.
  int64_t recompute_ns(const std::vector<plan::TaskId>& sequence,
                       const std::vector<size_t>& apart = {}) const;

 private:
  static constexpr uint32_t no_call = ~0u;
  ProgramTasks(const Graph& graph, const ProgramCalls& program)
      : graph_(&graph), program_(&program) {}
  void add_tasks(const MachineRates& rates);
  class Ordering;
  int64_t made_at(const std::vector<plan::TaskId>& sequence, size_t position) const;

  friend class SequenceWriter;
  const Graph* graph_;
  const ProgramCalls* program_;
  std::vector<plan::Task> list_;
  std::vector<plan::Value> values_;
  std::vector<plan::Link> links_;
  std::vector<uint32_t> call_of_;  // by task, of the ProgramCalls; none of one that only orders
  plan::TaskGraph tasks_;
  std::vector<plan::TaskId> given_;
};

}  // namespace cleave
