// A compiled program and its instances.
//
//   auto program = CompiledProgram::compile(graph, ops, options);   // once
//   Instance run(program, executor);                                // one arena each
//   run.bind(0, std::span(x));  run.run();  run.result(0);
//
// Placeholders are bound to the caller's memory, laid out by the strides of their types, row-major
// where these have none (64-byte alignment is faster but not required). An update in `return` is
// written to that memory in place, after every check of the run; memory between its elements is
// untouched. Results stay in the instance's arena until the next run. run() allocates nothing.
//
// Where the backend has memory of its own (device_operands.h), a run copies there what is bound to
// memory of the host, and updates back; runs may follow each other unwaited (device_runs.h).
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cleave/executor.h"
#include "cleave/host_tensor.h"
#include "cleave/report.h"
#include "compile/stage_options.h"
#include "exec/device_use.h"
#include "exec/graph_counts.h"
#include "ir/graph.h"

namespace cleave {

class ArenaMemory;
class DeviceMemory;

class CompiledProgram {
 public:
  // Any static graph (symints are specialised beforehand, see specialize.h).
  static Result<std::shared_ptr<const CompiledProgram>> compile(const Graph& graph,
                                                                const OpRegistry& ops,
                                                                const StageOptions& options);
  virtual ~CompiledProgram() = default;
  // As lowered: same placeholders and returns, and behind the placeholders those of constants that
  // are computed once (pass/freeze/compute_once.cpp), which its instances bind themselves. A frozen
  // program (CompileOptions::freeze) lacks those that it doesn't read, and has folded() besides.
  // That of a program from a cache is parsed at the first call.
  virtual const Graph& graph() const = 0;
  // The names of its placeholders, by number.
  virtual const std::vector<std::string>& placeholders() const = 0;
  virtual const Report& report() const = 0;
  // Computes what doesn't change from run to run, of placeholders of the program; null: nothing.
  virtual const std::shared_ptr<const CompiledProgram>& frozen_part() const = 0;
  // The names of the placeholders that its results are for.
  virtual const std::vector<std::string>& folded() const = 0;
  // Of the constants that instances bind, each rounded up to 64; computed by the first instance.
  virtual int64_t constant_bytes() const = 0;
};

// Memory of the caller. Without a dtype it may hold any.
struct HostMemory {
  void* data = nullptr;
  int64_t bytes = 0;
  std::optional<DType> dtype = std::nullopt;
  // What is in it doesn't change while it is bound: a device is given it once.
  bool is_constant = false;
};

class Instance {
 public:
  // With an arena it takes that if it is large enough: instances that share one run one at a time,
  // and each run overwrites the results of all.
  static Result<std::unique_ptr<Instance>> make(std::shared_ptr<const CompiledProgram> program,
                                                std::shared_ptr<Executor> executor,
                                                std::shared_ptr<ArenaMemory> arena = nullptr);
  virtual ~Instance() = default;
  // Memory of placeholder i (graph().placeholders()[i]); kept by the caller while bound. Errors
  // (user), naming what is given and what is expected: no such placeholder, another dtype, fewer
  // bytes than the type reaches over (ir/strides.h), an address that doesn't suit its elements.
  virtual Status bind(size_t placeholder, const HostMemory& memory) = 0;
  template <class T>
  Status bind(size_t placeholder, std::span<T> memory) {
    HostMemory all{memory.data(), static_cast<int64_t>(memory.size_bytes())};
    if constexpr (!std::is_same_v<T, std::byte>)
      if (!holds<T>(DType::bf16)) all.dtype = dtype_of<T>();  // 16 bits may be either half
    return bind(placeholder, all);
  }
  // The same with memory of the instance's device, which the caller has filled, aligned to 16.
  virtual Status bind_there(size_t placeholder, void* data, int64_t bytes) = 0;
  // Where the operands lie; null: the host's memory.
  virtual const std::shared_ptr<DeviceMemory>& device_memory() const = 0;
  virtual const std::shared_ptr<ArenaMemory>& arena() const = 0;
  // Whether memory that holds results lies there: of the host, and of the device.
  virtual bool overlaps_arena(const void* data, int64_t bytes) const = 0;
  virtual bool overlaps_there(const void* data, int64_t bytes) const = 0;
  // Runs the program once. A failure (index out of range, unbound placeholder, entered twice)
  // leaves every bound placeholder as it was.
  Status run() { return run(nullptr); }
  // The same, and asks `release` of each placeholder that isn't returned, behind its last reader:
  // of a reader in a loop, behind the loop; of a branch that isn't taken, behind the branch. If it
  // is true, the placeholder's memory is gone and it is unbound. A failure stops asking. With
  // memory of a device it is asked when that has a copy.
  using Release = std::function<bool(size_t placeholder)>;
  virtual Status run(const Release* release) = 0;

  // ---- runs that aren't waited for, with memory of a device; elsewhere start is run()
  // Queues a run with what is bound now, whose memory of the host it has copied when it returns.
  // `run` is told when it is over, at the latest when the third run behind it is started. A run
  // whose updates go to memory of the host is waited for. Errors: as of run(); that of a run that
  // was started before, unless somebody was told of it already, and then nothing is run.
  virtual Status start(std::shared_ptr<StartedRun> run) = 0;
  // Waits for all that were started. Error: of one of them, of which nobody was told.
  virtual Status settle() = 0;
  // Those who want to touch memory that started runs use wait by it; null without a device.
  virtual std::shared_ptr<DeviceUse> use() const = 0;
  // In StartedRun::ended of a run that succeeded: a result of at most 256 bytes, which is no
  // update.
  virtual const void* ended_result(size_t k) const = 0;

  virtual const GraphCounts& graph_counts() const = 0;
  // From now on no run is one graph, for this reason.
  virtual void skip_graphs(std::string reason) = 0;

  // Memory of returns()[k], by the strides of the value; for an update, the placeholder's own
  // memory, by that one's. With memory of a device it is a copy in the host's, until the next run,
  // made when it is asked for the first time, behind all runs; throws the device's error, and that
  // of a run that was started.
  virtual const void* result(size_t k) const = 0;
  // The same where the operands lie: on a device it isn't copied.
  virtual void* result_there(size_t k) const = 0;
  // Fills the arena with a pattern; after a run, the highest byte touched (rounded up to 64).
  virtual void fill_arena_pattern() = 0;
  virtual int64_t touched_arena_bytes() const = 0;
  // Turns the timing of thunks on, with all times at 0, or off. step_times() has an entry for each
  // thunk, in order; its sum goes over all runs and iterations since then.
  virtual void profile_kernels(bool on) = 0;
  virtual std::vector<StepTime> step_times() const = 0;
  // Backend::tuned_target of the program's library calls.
  virtual Result<Target> tuned_target() const = 0;
};

}  // namespace cleave
