#include "backend/cuda/cuda_backend.h"

#include <algorithm>

#include "backend/cuda/cuda_arena.h"
#include "backend/cuda/cuda_kernel.h"
#include "backend/cuda/cuda_library_device.h"
#include "backend/cuda/cuda_memory.h"
#include "backend/cuda/emit_units.h"
#include "backend/cuda/gemm_plan.h"
#include "backend/cuda/library.h"
#include "backend/cuda/shared_buffers.h"
#include "backend/cuda/tune_products.h"
#include "backend/unit_key.h"
#include "base/target_file.h"
#include "schedule/schedule.h"

namespace cleave::cuda {

Result<LibraryFunctionPtr> CudaBackend::library(const LibrarySpec& spec) {
  const std::lock_guard lock(mutex_);
  if (const auto at = functions_.find(spec); at != functions_.end()) return at->second;
  CLEAVE_TRY(LibraryFunctionPtr function,
             make_library(spec, cuda_library_device(target().cuda_arch, index_), target().answers,
                          target().is_deterministic));
  return functions_[spec] = std::move(function);
}

Result<std::vector<loop::Kernel>> CudaBackend::schedule(
    const std::vector<loop::Kernel>& kernels) const {
  std::vector<loop::Kernel> out;
  for (const loop::Kernel& k : kernels)
    out.push_back(schedule::schedule(k, schedule::RunsIn::threads));
  return out;
}

Result<EmittedCode> CudaBackend::emit(const LoweredProgram& program,
                                      const schedule::SharedKernels& functions) const {
  for (const Thunk& thunk : program.thunks)
    if (std::holds_alternative<ForeignCall>(thunk.work))
      return unsupported(
          "%{}: a custom operator's function runs on the host, and target {} is a GPU; write the "
          "operator as calls of others, or compile for the processor",
          thunk.name, target().text());
  if (functions.uses.empty()) return EmittedCode();
  return emit_kernels(program.kernels, functions, shared_buffers(program));
}

Result<std::string> CudaBackend::identity(cache::Store*) {
  CLEAVE_TRY(const std::string compiler, cubins_.identity());
  std::string answers;
  for (const auto& [call, answer] : target().answers)
    answers += fmt::format("{} {}\n", call, answer);
  return fmt::format("{} {}{}\n{}\n{}", target_word(target()), target().cuda_arch,
                     target().is_deterministic ? "" : " adds in any order", compiler, answers);
}

bool CudaBackend::is_of_target(const CudaDevice& device) const {
  return device.arch() / 10 == target().cuda_arch / 10 && device.arch() >= target().cuda_arch;
}

CudaDevicePtr CudaBackend::device_of_target() const {
  const Result<CudaDevicePtr> device = parts_.device(index_);
  return device.ok() && is_of_target(**device) ? *device : nullptr;
}

Result<BuiltCode> CudaBackend::build(const LoweredProgram&, const EmittedCode& code,
                                     Executor& executor, cache::Store* cache) {
  const int64_t compiled = cubins_.compiled();
  const CudaDevicePtr device = device_of_target();
  // With the kernels of library calls, of which one may take as long as many of ours: these first.
  const auto calls = cuda_library_device(target().cuda_arch, index_)->waiting();
  const auto load = [&](size_t i) -> Result<LoadedCubin> {
    if (i >= calls.size()) {
      const size_t unit = i - calls.size();
      return cubins_.load(code.units[unit], unit_name(unit), device, cache);
    }
    CLEAVE_CHECK(calls[i]->load(cache));
    return LoadedCubin();
  };
  CLEAVE_TRY(std::vector<LoadedCubin> units,
             load_in_parallel<LoadedCubin>(calls.size() + code.units.size(), executor, load));
  units.erase(units.begin(), units.begin() + std::ssize(calls));
  BuiltCode out;
  out.compiled_units = cubins_.compiled() - compiled;
  out.cached_units =
      std::ranges::count(code.units, nullptr, &SourceUnit::loaded) - out.compiled_units;
  for (const EmittedKernel& kernel : code.kernels) {
    std::vector<CudaPhase> phases;
    for (const KernelPhase& phase : kernel.phases) {
      const Launch& l = phase.launch;
      CLEAVE_TRY(const CUfunction function,
                 units[kernel.unit].code->function(phase.symbol, l.shared_bytes, l.threads));
      phases.push_back({function, phase.launch});
    }
    CLEAVE_TRY(auto made, CudaKernel::make(device, std::move(phases), kernel.checks));
    out.kernels.push_back(std::move(made));
  }
  for (LoadedCubin& unit : units) {
    out.unit_keys.push_back(std::move(unit.key));
    out.units.push_back(std::move(unit.code));
  }
  return out;
}

Result<Target> CudaBackend::tuned_target(const std::vector<LibrarySpec>& calls) const {
  CLEAVE_CHECK(check_runs_here());
  CLEAVE_TRY(const CudaDevicePtr device, parts_.device(index_));
  Target out = target();
  const auto cublas = cuda_library_device(target().cuda_arch, index_)->cublas();
  if (!cublas) return out;
  for (const LibrarySpec& call : calls) {
    const auto* product = std::get_if<GemmSpec>(&call);
    if (product == nullptr) continue;
    for (const GemmPart& part : parts_of(*product)) {
      const auto plan = plan_gemm(part.spec);
      if (!plan) continue;
      const auto [answer, is_new] = out.answers.emplace(answer_name(plan->product), 0);
      if (!is_new) continue;
      CLEAVE_TRY(answer->second, fastest_answer(plan->product, cublas, device));
    }
  }
  return out;
}

Status CudaBackend::check_runs_here() const {
  constexpr std::string_view so = "a program for it can be planned and compiled here, not run";
  const Result<CudaDevicePtr> device = parts_.device(index_);
  if (!device.ok())
    return Failure{device.failure().kind,
                   fmt::format("target {}: {}; {}", target().text(), device.failure().message, so)};
  if (!is_of_target(**device))
    return unsupported("target {}: this machine's {} is an sm_{}; {}", target().text(),
                       (*device)->name(), (*device)->arch(), so);
  const Result<NvrtcPtr> compiler = parts_.compiler();
  if (!compiler.ok()) return {};  // the program may be one that was kept
  const int driver = (*device)->driver().version, nvrtc = (*compiler)->version();
  if (driver / 1000 >= nvrtc / 1000) return {};
  return unsupported(
      "target {}: NVRTC {} ({}) is newer than the driver, which runs code of CUDA {} at most: "
      "update the driver, or pip install nvidia-cuda-nvrtc-cu{}",
      target().text(), version_text(nvrtc), (*compiler)->path(), version_text(driver),
      driver / 1000);
}

std::shared_ptr<DeviceMemory> CudaBackend::device_memory() const {
  const Result<CudaDevicePtr> device = parts_.device(index_);
  return device.ok() ? cuda_memory(*device) : nullptr;
}

Result<std::unique_ptr<ArenaMemory>> CudaBackend::make_arena(int64_t bytes) const {
  CLEAVE_TRY(const CudaDevicePtr device, parts_.device(index_));
  return make_cuda_arena(device, bytes);
}

}  // namespace cleave::cuda
