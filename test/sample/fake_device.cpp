#include "test/sample/fake_device.h"

#include "test/sample/fake_arena.h"

namespace cleave::test {
namespace {

std::vector<void*> found(FakeMemory& memory, void* const* addresses, size_t count) {
  std::vector<void*> out;
  for (size_t k = 0; k < count; ++k) out.push_back(memory.at(addresses[k]));
  return out;
}

class FakeKernel final : public KernelFunction {
 public:
  FakeKernel(std::shared_ptr<FakeMemory> memory, std::unique_ptr<const KernelFunction> kernel,
             std::vector<bool> writes, size_t scalars)
      : memory_(std::move(memory)), kernel_(std::move(kernel)), writes_(std::move(writes)),
        buffers_(writes_.size()), scalars_(scalars) {}

  std::optional<Fault> call(void* const* buffers, const int64_t* scalars,
                            const RunContext& context) const override {
    auto* const words = static_cast<Queue*>(context.fault);
    const auto work = [this, words, own = found(*memory_, buffers, buffers_),
                       numbers = std::vector<int64_t>(scalars, scalars + scalars_), context] {
      if (words->failed) return;
      memory_->count_call();
      if (const auto fault = kernel_->call(own.data(), numbers.data(), context)) {
        const std::lock_guard lock(mutex_);
        last_ = *fault;
        words->failed = {{context.thunk, 0, fault->index, fault->bound}, *fault};
      }
    };
    static_cast<Queue*>(context.queue)->add(work);
    return std::nullopt;
  }
  bool writes(size_t buffer) const override { return writes_[buffer]; }
  Fault fault_of(const QueuedFault& /*failed*/) const override {
    const std::lock_guard lock(mutex_);
    return last_;
  }

 private:
  const std::shared_ptr<FakeMemory> memory_;
  const std::unique_ptr<const KernelFunction> kernel_;
  const std::vector<bool> writes_;
  const size_t buffers_, scalars_;
  mutable std::mutex mutex_;
  mutable Fault last_;
};

class FakeLibrary final : public LibraryFunction {
 public:
  FakeLibrary(std::shared_ptr<FakeMemory> memory, LibraryFunctionPtr function)
      : memory_(std::move(memory)), function_(std::move(function)) {}
  int64_t scratch_bytes() const override { return function_->scratch_bytes(); }
  void call(void* const* operands, void* scratch, const RunContext& context) const override {
    static_cast<Queue*>(context.queue)
        ->add([this, own = found(*memory_, operands, max_library_operands),
               scratch = memory_->at(scratch), context] {
          memory_->count_call();
          function_->call(own.data(), scratch, context);
        });
    if (memory_->library_waits()) static_cast<Queue*>(context.queue)->drain();
  }

 private:
  const std::shared_ptr<FakeMemory> memory_;
  const LibraryFunctionPtr function_;
};

class FakeBackend final : public BackendOf {
 public:
  FakeBackend(std::shared_ptr<Backend> cpu, std::shared_ptr<FakeMemory> memory)
      : BackendOf(std::move(cpu)), memory_(std::move(memory)) {}

  Result<LibraryFunctionPtr> library(const LibrarySpec& spec) override {
    CLEAVE_TRY(LibraryFunctionPtr function, inner().library(spec));
    return LibraryFunctionPtr(std::make_shared<FakeLibrary>(memory_, std::move(function)));
  }
  Result<std::string> identity(cache::Store* cache) override {
    CLEAVE_TRY(const std::string cpu, inner().identity(cache));
    return "fake\n" + cpu;
  }
  Result<BuiltCode> build(const LoweredProgram& program, const EmittedCode& code,
                          Executor& executor, cache::Store* cache) override {
    CLEAVE_TRY(BuiltCode out, inner().build(program, code, executor, cache));
    for (size_t k = 0; k < out.kernels.size(); ++k) {
      size_t buffers = 0, scalars = 0;
      for (const Thunk& thunk : program.thunks)
        if (auto* call = std::get_if<KernelCall>(&thunk.work); call && call->kernel == k) {
          buffers = call->storages.size();
          scalars = call->scalars.size();
        }
      std::vector<bool> writes(buffers, true);
      for (size_t b = 0; b < buffers && k < program.kernels.size(); ++b)
        writes[b] = program.kernels[k].buffers[b].access != loop::Access::read;
      out.kernels[k] =
          std::make_unique<FakeKernel>(memory_, std::move(out.kernels[k]), writes, scalars);
    }
    return out;
  }
  Result<std::unique_ptr<ArenaMemory>> make_arena(int64_t bytes) const override {
    CLEAVE_TRY(DeviceBlock block, DeviceBlock::make(memory_, bytes));
    return std::unique_ptr<ArenaMemory>(std::make_unique<FakeArena>(memory_, std::move(block)));
  }
  Device device() const override { return memory_->device(); }
  std::shared_ptr<DeviceMemory> device_memory() const override { return memory_; }

 private:
  const std::shared_ptr<FakeMemory> memory_;
};

}  // namespace

FakeDevice::FakeDevice(int64_t bytes, Device where, CompilerChoice compiler)
    : memory(std::make_shared<FakeMemory>(bytes, where)), backend(other_backend(compiler)) {}

std::shared_ptr<Backend> FakeDevice::other_backend(CompilerChoice compiler,
                                                   const Target& target) const {
  return std::make_shared<FakeBackend>(make_backend(target, found_compiler(compiler)), memory);
}

FakeDevice::Copies FakeDevice::copies() { return memory->copies(); }
FakeDevice::Graphs FakeDevice::graphs() { return memory->graphs(); }
int64_t FakeDevice::calls() const { return memory->calls(); }
void FakeDevice::set_notes(bool on) { memory->set_notes(on); }
void FakeDevice::set_library_waits(bool on) { memory->set_library_waits(on); }
int64_t FakeDevice::used_bytes() const { return memory->used_bytes(); }
std::string FakeDevice::wrong() const { return memory->wrong(); }

}  // namespace cleave::test
