// The CPU backend: kernels as C text, compiled in process or by cc, or as bytecode; library calls
// by src/runtime.
#pragma once
#include "backend/backend.h"
#include "backend/cpu/unit_loader.h"
#include "cleave/compiler_choice.h"
#include "runtime/library.h"

namespace cleave::cpu {

class CpuBackend final : public Backend {
 public:
  // CompilerChoice::none: kernels run as bytecode; C text of custom operators is compiled even so.
  CpuBackend(const Target& target, CompilerChoice compiler)
      : Backend(target), compiler_(compiler),
        units_(interprets() ? CompilerChoice::automatic : compiler, target), library_(target) {}

  FuseCosts fuse_costs() const override { return FuseCosts::of(rates()); }
  Result<LibraryFunctionPtr> library(const LibrarySpec& spec) override {
    return library_.get(spec);
  }
  Result<std::vector<loop::Kernel>> schedule(
      const std::vector<loop::Kernel>& kernels) const override;
  bool interprets() const override { return compiler_ == CompilerChoice::none; }
  Result<EmittedCode> emit(const LoweredProgram& program,
                           const schedule::SharedKernels& functions) const override;
  Result<std::string> identity(cache::Store* cache) override;
  Result<BuiltCode> build(const LoweredProgram& program, const EmittedCode& code,
                          Executor& executor, cache::Store* cache) override;
  Status check_runs_here() const override;
  Result<std::unique_ptr<ArenaMemory>> make_arena(int64_t bytes) const override;

 private:
  const CompilerChoice compiler_;
  UnitLoader units_;
  runtime::LibraryCache library_;
};

}  // namespace cleave::cpu
