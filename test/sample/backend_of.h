// A backend that does what another one does, for tests that change a part of it.
#pragma once
#include "backend/backend.h"

namespace cleave::test {

class BackendOf : public Backend {
 public:
  explicit BackendOf(std::shared_ptr<Backend> inner)
      : Backend(inner->target()), inner_(std::move(inner)) {}

  FuseCosts fuse_costs() const override { return inner_->fuse_costs(); }
  Result<LibraryFunctionPtr> library(const LibrarySpec& spec) override {
    return inner_->library(spec);
  }
  Result<std::vector<loop::Kernel>> schedule(
      const std::vector<loop::Kernel>& kernels) const override {
    return inner_->schedule(kernels);
  }
  bool interprets() const override { return inner_->interprets(); }
  Result<EmittedCode> emit(const LoweredProgram& program,
                           const schedule::SharedKernels& functions) const override {
    return inner_->emit(program, functions);
  }
  Result<std::string> identity(cache::Store* cache) override { return inner_->identity(cache); }
  Result<BuiltCode> build(const LoweredProgram& program, const EmittedCode& code,
                          Executor& executor, cache::Store* cache) override {
    return inner_->build(program, code, executor, cache);
  }
  Result<Target> tuned_target(const std::vector<LibrarySpec>& calls) const override {
    return inner_->tuned_target(calls);
  }
  Status check_runs_here() const override { return inner_->check_runs_here(); }
  Result<std::unique_ptr<ArenaMemory>> make_arena(int64_t bytes) const override {
    return inner_->make_arena(bytes);
  }
  Device device() const override { return inner_->device(); }
  std::shared_ptr<DeviceMemory> device_memory() const override { return inner_->device_memory(); }

 protected:
  Backend& inner() const { return *inner_; }

 private:
  const std::shared_ptr<Backend> inner_;
};

// Lowers as another target does.
class BackendWithChoices final : public BackendOf {
 public:
  BackendWithChoices(std::shared_ptr<Backend> inner, const LowerChoices& choices)
      : BackendOf(std::move(inner)), choices_(choices) {}
  FuseCosts fuse_costs() const override {
    FuseCosts out = BackendOf::fuse_costs();
    out.choices = choices_;
    return out;
  }
  Result<std::string> identity(cache::Store* cache) override {
    CLEAVE_TRY(const std::string inner, BackendOf::identity(cache));
    return "choices\n" + inner;
  }

 private:
  const LowerChoices choices_;
};

}  // namespace cleave::test
