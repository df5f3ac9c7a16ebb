// The backend of NVIDIA's GPUs: kernels as CUDA C text, compiled by NVRTC; library calls by
// cuda/library.h.
#pragma once
#include <map>
#include <mutex>

#include "backend/backend.h"
#include "backend/cuda/cubin_loader.h"
#include "backend/cuda/cuda_parts.h"

namespace cleave::cuda {

class CudaBackend final : public Backend {
 public:
  // target.cuda_arch isn't 0. Nothing is opened yet. A program can be built where there is no GPU.
  explicit CudaBackend(const Target& target, int16_t index = 0, CudaParts parts = {})
      : Backend(target), index_(index), parts_(std::move(parts)),
        cubins_(parts_.compiler, target.cuda_arch) {}

  FuseCosts fuse_costs() const override {
    FuseCosts out = FuseCosts::of(rates());
    out.choices = {.cut = {.few_results = 256,
                           .long_fold = 1 << 12,
                           .chunk_elements = 1 << 8,
                           .max_parts = 1024,
                           .part_rows = 16,
                           .row_threads = 32,
                           .partial_sums = int64_t{1} << 22,
                           .shares_parts = true},
                   .loops = {.added_columns = 8, .many_threads = true, .tile_side = 64},
                   .row_bytes = 16,
                   // A product that isn't given its dtype copies, at each call.
                   .folds_casts = false};
    out.stored_part = 2;  // of what is computed in f32 the halves that it is made from are stored
    // Parts of 64 rows for all processors; sums of a row's columns in registers of a block.
    out.least_rows_of_columns = 1 << 14;
    out.most_columns_of_rows = 1 << 13;
    out.few_columns = 1 << 14;  // of 64 each: twice as many blocks as processors
    return out;
  }
  Result<LibraryFunctionPtr> library(const LibrarySpec& spec) override;
  Result<std::vector<loop::Kernel>> schedule(
      const std::vector<loop::Kernel>& kernels) const override;
  bool interprets() const override { return false; }
  // Unsupported, by name, for custom operators: their functions are the host's.
  Result<EmittedCode> emit(const LoweredProgram& program,
                           const schedule::SharedKernels& functions) const override;
  Result<std::string> identity(cache::Store* cache) override;
  Result<BuiltCode> build(const LoweredProgram& program, const EmittedCode& code,
                          Executor& executor, cache::Store* cache) override;
  Result<Target> tuned_target(const std::vector<LibrarySpec>& calls) const override;
  Status check_runs_here() const override;
  Result<std::unique_ptr<ArenaMemory>> make_arena(int64_t bytes) const override;
  Device device() const override { return Device::cuda(index_); }
  // Null where the device isn't here: nothing runs then.
  std::shared_ptr<DeviceMemory> device_memory() const override;

 private:
  bool is_of_target(const CudaDevice& device) const;
  // Null where this machine has none of the target.
  CudaDevicePtr device_of_target() const;

  const int16_t index_;
  const CudaParts parts_;
  CubinLoader cubins_;
  std::mutex mutex_;
  std::map<LibrarySpec, LibraryFunctionPtr> functions_;
};

}  // namespace cleave::cuda
