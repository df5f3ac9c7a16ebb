// The runs of an instance on its device's queue: each of them waited for, or two at a time
// unwaited.
//
//   start   inputs to pinned memory | copies in | calls, or their graph | copies out | mark
//   settle  waits for the oldest run's mark | its faults | its small results
//
// The calls of a run, with the copies of its results, are noted as a graph (run/queue_graph.h)
// where all pointers are those of the last run in the same turn: the first run, which makes handles
// and plans of libraries, is never noted, and neither is one behind an operand that has moved.
// Copies of inputs are not in the graph: they run beside the run before.
//
// Behind a failed check kernels do nothing until it is told (finish_turn), those of a run that was
// started before the host knew of it, too: it fails with the same message. Who is told of a failure
// is the first of: what asks these runs for their numbers, the next start or run, settle.
//
// Thread-safe.
#pragma once
#include <mutex>
#include <optional>

#include "exec/device_operands.h"
#include "exec/device_use.h"
#include "exec/graph_counts.h"

namespace cleave {

class DeviceRuns {
 public:
  // The message of a check that failed in a run of this turn.
  using Told = std::function<Failure(const FailedThunk&, size_t turn)>;
  // All of it outlives the runs. `waits`: the name of a call that must be waited for, if there is
  // one, such as "cond (%y)".
  DeviceRuns(Runner& runner, DeviceOperands& operands, Told told, GraphCounts& counts, bool notes,
             const std::string& waits);
  // Waits for all.
  ~DeviceRuns();
  DeviceRuns(const DeviceRuns&) = delete;
  DeviceRuns& operator=(const DeviceRuns&) = delete;

  // Runs, and waits. Errors: the run's; that of an earlier run of which nobody was told, and then
  // nothing is run.
  Status run(const Instance::Release* release);
  // Queues a run and returns; of three runs the first is waited for. Where calls must be waited for
  // it is run(). Errors: as run.
  Status start(std::shared_ptr<StartedRun> run);
  Status settle();
  void skip_graphs(std::string reason);
  // Of the instance's runs, for as long as anybody asks.
  const std::shared_ptr<DeviceUse>& use() const { return use_; }

 private:
  class Use;
  struct Started {
    size_t turn = 0;
    std::shared_ptr<StartedRun> run;  // null: its caller waits for it
  };
  bool must_wait() const { return waits_ || runner_.is_watched(); }
  Status queue(size_t turn, const Instance::Release* release);
  Status call(size_t turn);
  // With an order: on lanes.
  Status queue_calls(size_t turn, const CallOrder* order = nullptr);
  Status note(QueueGraph& graph, size_t turn);
  Status run_waiting(const Instance::Release* release);
  Started taken_first();
  void settle_first();
  void settle_all();
  void wait_for(const StartedRun& run);
  Status taken_failure();
  ArenaMemory& arena() const { return *runner_.arena(); }

  Runner& runner_;
  DeviceOperands& operands_;
  const Told told_;
  GraphCounts& counts_;
  const bool waits_;
  bool notes_;
  struct Turn {
    std::shared_ptr<QueueGraph> graph;
    std::vector<void*> pointers;  // of its last run
  };
  Turn turns_[ArenaMemory::turns];
  std::vector<void*> pointers_;  // of the run that is being queued
  Started started_[ArenaMemory::turns];
  size_t count_ = 0;                // of runs that are on the queue
  std::optional<Failure> failure_;  // of which nobody was told yet, and the runs that it ended
  std::vector<const StartedRun*> untold_;
  std::mutex mutex_;
  std::shared_ptr<DeviceUse> use_;
};

}  // namespace cleave
