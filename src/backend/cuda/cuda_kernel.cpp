#include "backend/cuda/cuda_kernel.h"

#include <algorithm>
#include <limits>

namespace cleave::cuda {
namespace {

constexpr size_t max_arguments = 512;  // 4096 bytes, which every architecture and version takes
constexpr int32_t max_block_threads = 1024;

Status check(const Launch& l) {
  if (l.blocks < 0 || l.blocks > std::numeric_limits<int32_t>::max() || l.threads < 1 ||
      l.threads > max_block_threads || l.shared_bytes < 0)
    return bug("a launch of {} blocks of {} threads with {} bytes", l.blocks, l.threads,
               l.shared_bytes);
  const size_t arguments = l.buffers.size() + l.scalars.size() + 2;
  if (arguments > max_arguments)
    return unsupported("a kernel of {} arguments, of which a GPU takes {}", arguments,
                       max_arguments);
  return {};
}

}  // namespace

Result<std::unique_ptr<const KernelFunction>> CudaKernel::make(CudaDevicePtr device,
                                                               std::vector<CudaPhase> phases,
                                                               std::vector<CheckText> checks) {
  for (const CudaPhase& phase : phases)
    if (phase.launch.blocks != 0) CLEAVE_CHECK(check(phase.launch));
  return std::unique_ptr<const KernelFunction>(
      new CudaKernel(std::move(device), std::move(phases), std::move(checks)));
}

bool CudaKernel::writes(size_t buffer) const {
  return std::ranges::any_of(phases_, [&](const CudaPhase& p) {
    return std::ranges::find(p.launch.written, buffer) != p.launch.written.end();
  });
}

std::optional<Fault> CudaKernel::call(void* const* buffers, const int64_t* scalars,
                                      const RunContext& context) const {
  if (device_ == nullptr) throw_bug("cuda: a kernel is called on a machine without its device");
  uint64_t arguments[max_arguments];
  for (const CudaPhase& phase : phases_) {
    const Launch& launch = phase.launch;
    if (launch.blocks == 0) continue;
    size_t count = 0;
    for (const uint32_t b : launch.buffers)
      arguments[count++] = reinterpret_cast<uint64_t>(buffers[b]);
    for (const uint32_t s : launch.scalars) arguments[count++] = static_cast<uint64_t>(scalars[s]);
    arguments[count++] = static_cast<uint64_t>(context.thunk);
    arguments[count++] = reinterpret_cast<uint64_t>(context.fault);
    size_t bytes = 8 * count;
    void* extra[] = {cuda_arguments_buffer, arguments, cuda_arguments_size, &bytes, nullptr};
    const Driver& driver = device_->driver();
    value_or_bug(
        driver.check(driver.cuLaunchKernel(phase.function, static_cast<unsigned>(launch.blocks), 1,
                                           1, static_cast<unsigned>(launch.threads), 1, 1,
                                           static_cast<unsigned>(launch.shared_bytes),
                                           static_cast<CUstream>(context.queue), nullptr, extra),
                     "starting a kernel"));
  }
  return std::nullopt;
}

}  // namespace cleave::cuda
