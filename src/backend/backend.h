// The interface between the pipeline and one kind of machine. Only src/backend knows facts of a
// machine: graphs, loop nests and memory plans have the same form for all.
//
//   auto backend = make_backend(target);                        // backend/make_backend.h
//   fuse_calls(graph, ops, backend->fuse_costs());              // what is fused
//   price(call, backend->rates());                              // what is recomputed
//   CLEAVE_TRY(auto function, backend->library(call.spec));     // functions of library calls
//   CLEAVE_TRY(auto scheduled, backend->schedule(kernels));     // how loops run
//   CLEAVE_TRY(EmittedCode code, backend->emit(program, functions));         // text
//   CLEAVE_TRY(BuiltCode built, backend->build(program, code, executor));  // functions
//   CLEAVE_TRY(auto arena, backend->make_arena(bytes));         // memory of an instance
//
// A new backend provides:
//   - a Target that names it, and a case in make_backend
//   - its rates, and the numbers of fusion that follow from them (FuseCosts)
//   - a LibraryFunction for each kind of spec (library/spec.h): products, attention, convolutions;
//     or Unsupported, by name. Their workspaces are planned as any other storage
//   - how the loops of a nest (loop/kernel.h) run, with the order of each Reduce. Kernels that
//     differ only in numbers share a function, which takes them (schedule/share_kernels.h)
//   - the text of a scheduled nest in some language, in units, with the numeric rules of loop
//     nests: no multiply-add is contracted
//   - a KernelFunction for each kernel: all phases of its nest, and the check that failed
//   - the arena. All pointers passed to functions are into it or into memory that the caller bound;
//     the pipeline itself reads only the flags of jumps through them (ArenaMemory::flag)
//   - the memory of its device, if that isn't the host's (device_memory.h): all operands are then
//     there, and exec copies what the host program binds and reads
// It decides how a parallel loop is split and on what its functions run; the Executor has the
// threads of the host.
//
// Objects of one backend can't be passed to another. Thread-safe.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/device_memory.h"
#include "cache/store.h"
#include "cleave/executor.h"
#include "cleave/target.h"
#include "library/library_function.h"
#include "library/spec.h"
#include "lower/fuse_cost.h"
#include "lower/program.h"
#include "run/arena_memory.h"
#include "run/kernel_function.h"
#include "run/phase.h"
#include "schedule/share_kernels.h"

namespace cleave {

// Text that is compiled at once.
struct SourceUnit {
  // host_program: the text of a custom operator, a unit of its own because it chooses its names.
  enum class From : uint8_t { kernels, host_program };
  std::string text;
  From from = From::kernels;
  std::string_view language = "c";  // suffix of its file in a dump
  std::string host_symbol = {};     // of host_program: operator_NAME
  // Of its compiled code in the cache. A unit of a kept program has it and no text.
  std::string key = {};
  // Its code, if the backend has loaded it for another program (BuiltCode::units).
  std::shared_ptr<const void> loaded = {};
};

// The unit and the symbols of a kernel of LoweredProgram.
struct EmittedKernel {
  size_t unit = 0;
  std::vector<KernelPhase> phases;
  std::vector<CheckText> checks;  // in the order of their numbers
  int64_t work = 0;               // loop::Kernel::work
};

struct EmittedCode {
  std::vector<SourceUnit> units;
  std::vector<EmittedKernel> kernels;  // as in LoweredProgram; empty where kernels are interpreted
};

struct BuiltCode {
  int64_t compiled_units = 0, cached_units = 0;                // the latter came from a cache
  std::vector<std::string> unit_keys;                          // with a cache: SourceUnit::key
  std::vector<std::unique_ptr<const KernelFunction>> kernels;  // as in LoweredProgram
  std::vector<ForeignFunction> foreign;                        // of ForeignCalls, in order
  std::vector<std::shared_ptr<const void>> units;              // own what the functions point to
};

class Backend {
 public:
  explicit Backend(const Target& target) : target_(target) {}
  virtual ~Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  const Target& target() const { return target_; }
  // For the costs of calls: partition, budgets, cheap recomputation.
  const MachineRates& rates() const { return target_.rates; }
  virtual FuseCosts fuse_costs() const = 0;
  // Equal specs share a function. Errors: unsupported dtypes; bug for sizes that no operator makes.
  virtual Result<LibraryFunctionPtr> library(const LibrarySpec& spec) = 0;
  virtual Result<std::vector<loop::Kernel>> schedule(
      const std::vector<loop::Kernel>& kernels) const = 0;
  // Kernels run as bytecode: none have functions, and no text.
  virtual bool interprets() const = 0;
  // For all kernels and custom operators of the program. `functions` are those of its kernels,
  // which are scheduled; empty: no text is made of kernels.
  virtual Result<EmittedCode> emit(const LoweredProgram& program,
                                   const schedule::SharedKernels& functions) const = 0;
  // What programs depend on beside their graphs and options: the target, its rates, the compiler.
  // Errors: those of compilers.
  // Which compiler it would be is remembered in the cache, if that isn't null.
  virtual Result<std::string> identity(cache::Store* cache) = 0;
  // `code` is what emit returned for the program. Compiles the units in parallel on the executor,
  // or takes from the cache those that it has.
  // Of a kept program the units have keys alone, and the program has kernels only where they are
  // interpreted. Errors: those of compilers; user: the text of a custom operator lacks its
  // function; bug: a unit of a kept program is in no cache.
  virtual Result<BuiltCode> build(const LoweredProgram& program, const EmittedCode& code,
                                  Executor& executor, cache::Store* cache = nullptr) = 0;
  // The target with the fastest of a library's answers for each of the calls (Target::answers),
  // measured on this machine. Errors: there is no such device, or no memory for the operands.
  virtual Result<Target> tuned_target(const std::vector<LibrarySpec>& /*calls*/) const {
    return target_;
  }
  // Unsupported, naming what this machine lacks; programs can still be built for the target.
  virtual Status check_runs_here() const = 0;
  virtual Result<std::unique_ptr<ArenaMemory>> make_arena(int64_t bytes) const = 0;
  // Where its programs run.
  virtual Device device() const { return {}; }
  // Where the arena and all operands lie; null: the host's memory.
  virtual std::shared_ptr<DeviceMemory> device_memory() const { return nullptr; }

 private:
  const Target target_;
};

}  // namespace cleave
