// The code that the programs of one model share, whose kernels differ in sizes (decision 031).
//
//   learn     before the first program is built: the kernels of a few sizes join the pool
//   use       each program takes a function for each of its kernels
//   miss      a kernel that no function computes is learned, with those of sizes beside it, and
//             counted: its function is compiled again, for more sizes than before. Programs that
//             have the old one keep it
//
// One program at a time uses it: a pool isn't thread-safe. Where kernels are interpreted it stays
// empty.
#pragma once
#include <functional>

#include "backend/backend.h"
#include "cleave/options.h"
#include "compile/build.h"
#include "schedule/kernel_pool.h"

namespace cleave {

// Sets the options of programs of several sizes: none computes constants once. A new size would
// have its own, with kernels for them to compile, and would keep them.
void compute_each_time(CompileOptions& options);

class CodePool {
 public:
  // All programs have the backend's options. `samples` calls learn() for some sizes
  // (scheduled_kernels in stages.h), in the beginning and after a miss. Programs from a cache use
  // no kernels, so that it isn't called. Null: there are no others.
  enum class When : uint8_t { first, missed };
  using Samples = std::function<void(CodePool&, When)>;
  CodePool(std::shared_ptr<Backend> backend, Samples samples)
      : backend_(std::move(backend)), samples_(std::move(samples)) {}

  const std::shared_ptr<Backend>& backend() const { return backend_; }
  // How many of the kernels, which are scheduled, are new to it.
  size_t learn(std::span<const loop::Kernel> kernels) { return kernels_.learn(kernels); }
  Result<schedule::SharedKernels> use(std::span<const loop::Kernel> kernels);
  // The text of a program whose kernels use() was asked for last, and that of functions which are
  // new or have more arguments than before.
  Result<EmittedCode> emit(const LoweredProgram& program, const schedule::SharedKernels& functions);
  // Compiles and loads what has been emitted since, and gives it to the program's units.
  Status build(EmittedCode& code, Executor& executor, cache::Store* cache);

  // The first kernel of the last program that had no function, and why; empty: all had one.
  const std::string& last_miss() const { return last_miss_; }
  // The first operator of the host program whose C text the last program had alone, and the first
  // program has another of; empty: there is none.
  const std::string& last_text() const { return last_text_; }
  // That of a program which belongs to those of this pool (BuiltProgram::frozen).
  const std::shared_ptr<CodePool>& part();

 private:
  struct Function {
    EmittedKernel code;  // its unit is one of units_
    size_t scalars = 0;
  };
  Status emit_new(const schedule::SharedKernels& functions);
  // Among units_: that of the host program's text, which programs of other sizes may have too.
  size_t host_unit(SourceUnit unit);

  std::shared_ptr<Backend> backend_;
  Samples samples_;
  schedule::KernelPool kernels_;
  std::vector<std::optional<Function>> functions_;  // as those of kernels_
  std::vector<SourceUnit> units_;                   // those of functions that were replaced too
  std::vector<size_t> used_;  // units of the program that was emitted last, by its units
  bool has_learned_ = false;
  bool has_emitted_ = false;
  std::string last_miss_, last_text_;
  std::shared_ptr<CodePool> part_;
};

}  // namespace cleave
