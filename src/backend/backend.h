// What the pipeline asks about a machine, and what it gets for it. No other room knows facts of a
// machine: graphs, loop nests and the plan of memory are the same for all.
//
//   auto backend = make_backend(target);                        // backend/make_backend.h
//   fuse_calls(graph, ops, backend->fuse_costs());              // what is fused
//   price(call, backend->rates());                              // what runs again
//   CLEAVE_TRY(auto function, backend->library(call.spec));     // scratch bytes of library calls
//   CLEAVE_TRY(KernelSchedules s, backend->schedule(kernels));  // how loops run
//   CLEAVE_TRY(EmittedCode code, backend->emit(program, s.functions));       // text
//   CLEAVE_TRY(BuiltCode built, backend->build(program, code, executor));
//   CLEAVE_TRY(auto arena, backend->make_arena(bytes));         // of each instance
//
// A second backend has to provide:
//   - a Target that names it, and its line in make_backend
//   - rates of its own, and what fusion makes of them (FuseCosts), as numbers
//   - a LibraryFunction for each kind of spec (library/spec.h), or Unsupported by name: products,
//     attention, convolutions; the workspace that each asks for is planned as any other storage
//   - how the loops of a nest (loop/kernel.h) run, with the order of each Reduce; it may merge
//     kernels that differ in numbers, which their calls pass then (schedule/share_kernels.h)
//   - the text of a scheduled nest in a language of its own, spread over units, with the numeric
//     rules of the nests: no contracted multiply-add
//   - KernelFunctions of compiled units: all phases of a nest, and the check that failed
//   - the arena. All pointers that functions are given are of that memory, of storages that the
//     caller has bound, or of scratch: none is read here but flags of jumps (ArenaMemory::flag)
// It decides by itself how a parallel loop is cut and on what its functions run; the Executor has
// the threads of the host.
//
// Objects of one backend don't go to another. Any thread may ask.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cleave/executor.h"
#include "cleave/target.h"
#include "library/library_function.h"
#include "library/spec.h"
#include "loop/phase.h"
#include "lower/fuse_cost.h"
#include "lower/program.h"
#include "schedule/share_kernels.h"

namespace cleave {

struct KernelSchedules {
  std::vector<loop::Kernel> kernels;  // as they were given, each loop with how it runs
  // What is emitted of them; none where nests run as they are.
  schedule::SharedKernels functions = {};
};

// Text that is compiled at once.
struct SourceUnit {
  // host_program: the text of a custom operator, compiled alone since its names are its own.
  enum class From : uint8_t { kernels, host_program };
  std::string text;
  From from = From::kernels;
  std::string_view language = "c";  // ends the name of its file in a dump
};

// Where a kernel of LoweredProgram is, and what it takes.
struct EmittedKernel {
  size_t unit = 0;
  std::vector<loop::Phase> phases;
  std::vector<loop::CheckText> checks;  // in the order of their numbers
};

struct EmittedCode {
  std::vector<SourceUnit> units;
  std::vector<EmittedKernel> kernels;  // as in LoweredProgram; none where nests run as they are
};

// A failed check of a kernel. With bound -1 the message is all of it, else the index is outside
// [0, bound), or [-bound, bound).
struct Fault {
  std::string_view message;
  bool from_zero = false;
  int64_t index = 0, bound = 0;
};

// A distinct kernel as it runs. Any number of threads may call one at once. Nothing is allocated.
class KernelFunction {
 public:
  virtual ~KernelFunction() = default;
  // Pointers in the order of the kernel's buffers; the call's scalars and numbers.
  virtual std::optional<Fault> call(void* const* buffers, const int64_t* scalars,
                                    Executor& executor) const = 0;
};

// Operands, null where one isn't given, and results.
using ForeignFunction = std::function<void(void* const*, void* const*)>;

struct BuiltCode {
  std::vector<std::unique_ptr<const KernelFunction>> kernels;  // as in LoweredProgram
  std::vector<ForeignFunction> foreign;                        // of ForeignCalls, in order
  std::shared_ptr<const void> code;                            // holds what functions point to
};

// The transient memory of one instance, and how much of it was used.
class ArenaMemory {
 public:
  virtual ~ArenaMemory() = default;
  virtual std::byte* data() const = 0;  // aligned to storage_alignment; null for 0 bytes
  virtual int64_t size_bytes() const = 0;
  // Whether the flag of a jump is set, once all that was called before is done.
  virtual bool flag(const std::byte* at) const = 0;
  // After fill_pattern, touched_bytes is one past the highest byte written, rounded up to 64.
  virtual void fill_pattern() = 0;
  virtual int64_t touched_bytes() const = 0;
};

class Backend {
 public:
  explicit Backend(const Target& target) : target_(target) {}
  virtual ~Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  const Target& target() const { return target_; }
  // Prices of calls: the cut, budgets and cheap recomputation.
  const MachineRates& rates() const { return target_.rates; }
  virtual FuseCosts fuse_costs() const = 0;
  // Equal specs share one. Errors: unsupported dtypes; bug for sizes that no operator gives.
  virtual Result<LibraryFunctionPtr> library(const LibrarySpec& spec) = 0;
  virtual Result<KernelSchedules> schedule(const std::vector<loop::Kernel>& kernels) const = 0;
  // Of all kernels and custom operators of the program. `functions`: what schedule gave for its
  // kernels.
  virtual Result<EmittedCode> emit(const LoweredProgram& program,
                                   const schedule::SharedKernels& functions) const = 0;
  // `code` is what emit gave for the program. Units are compiled side by side on the executor.
  // Errors: those of compilers; user: the text of a custom operator lacks its function.
  virtual Result<BuiltCode> build(const LoweredProgram& program, const EmittedCode& code,
                                  Executor& executor) const = 0;
  // Unsupported, with what the machine has: programs can be built for the target, not run.
  virtual Status check_runs_here() const = 0;
  virtual Result<std::unique_ptr<ArenaMemory>> make_arena(int64_t bytes) const = 0;

 private:
  const Target target_;
};

}  // namespace cleave
