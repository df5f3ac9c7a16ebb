// A compiled program and its instances.
//
//   auto program = CompiledProgram::compile(graph, ops, options);   // once
//   Instance run(program, executor);                                // one arena each
//   run.bind(0, std::span(x));  run.run();  run.result(0);
//
// Placeholders are bound to the caller's memory, in which they lie by the strides of their types,
// row-major where these have none (64-byte aligned is faster but not needed); an update in `return`
// is written to that memory in place, after every check of the step, and what lies between its
// elements stays. Results live in the instance's arena until the next run. Nothing is allocated
// during run().
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cleave/executor.h"
#include "cleave/host_tensor.h"
#include "cleave/report.h"
#include "compile/stage_options.h"
#include "ir/graph.h"

namespace cleave {

class CompiledProgram {
 public:
  // Any static graph (symints are specialised beforehand, see specialize.h).
  static Result<std::shared_ptr<const CompiledProgram>> compile(const Graph& graph,
                                                                const OpRegistry& ops,
                                                                const StageOptions& options);
  virtual ~CompiledProgram() = default;
  virtual const Graph& graph() const = 0;  // after the pipeline; same placeholders and returns
  virtual const Report& report() const = 0;
};

// The caller's; without a dtype it is bytes, of which nothing more is known.
struct HostMemory {
  void* data = nullptr;
  int64_t bytes = 0;
  std::optional<DType> dtype = std::nullopt;
};

class Instance {
 public:
  static Result<std::unique_ptr<Instance>> make(std::shared_ptr<const CompiledProgram> program,
                                                std::shared_ptr<Executor> executor);
  virtual ~Instance() = default;
  // Memory of placeholder i (graph().placeholders()[i]); kept by the caller while bound. Errors
  // (user), naming what is given and what is expected: no such placeholder, another dtype, fewer
  // bytes than the type reaches over (ir/strides.h).
  virtual Status bind(size_t placeholder, const HostMemory& memory) = 0;
  template <class T>
  Status bind(size_t placeholder, std::span<T> memory) {
    HostMemory all{memory.data(), static_cast<int64_t>(memory.size_bytes())};
    if constexpr (!std::is_same_v<T, std::byte>)
      if (!holds<T>(DType::bf16)) all.dtype = dtype_of<T>();  // 16 bits may be either half
    return bind(placeholder, all);
  }
  // One step. A failure (index out of range, unbound placeholder, entered twice) leaves every bound
  // placeholder as it was.
  virtual Status run() = 0;
  // Memory of returns()[k], by the strides of the value; for an update, the placeholder's own
  // memory, by that one's.
  virtual const void* result(size_t k) const = 0;
  // Fills the arena with a pattern; after a run, the highest byte touched (rounded up to 64).
  virtual void fill_arena_pattern() = 0;
  virtual int64_t touched_arena_bytes() const = 0;
  // Measures each step of the following runs, or stops doing so. Times are in the steps' order; a
  // step in a loop has the sum over its iterations.
  virtual void profile_kernels(bool on) = 0;
  virtual std::vector<StepTime> step_times() const = 0;
};

}  // namespace cleave
