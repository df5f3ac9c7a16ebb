#include "backend/cuda/cuda_module.h"

namespace cleave::cuda {
namespace {

constexpr int32_t plain_shared_bytes = 48 << 10;  // what every function may have unasked

}  // namespace

Result<CudaModulePtr> CudaModule::load(CudaDevicePtr device, const std::vector<std::byte>& cubin) {
  const std::shared_ptr<CudaModule> out(new CudaModule(std::move(device)));
  if (out->device_ == nullptr) return CudaModulePtr(out);
  CLEAVE_CHECK(out->device_->make_current());
  const Driver& driver = out->device_->driver();
  CLEAVE_CHECK(
      driver.check(driver.cuModuleLoadData(&out->module_, cubin.data()), "loading kernels"));
  return CudaModulePtr(out);
}

CudaModule::~CudaModule() {
  if (module_ == nullptr) return;
  const Status current = device_->make_current();
  if (current.ok()) device_->driver().cuModuleUnload(module_);
}

Result<CUfunction> CudaModule::function(const std::string& symbol, int32_t shared_bytes,
                                        int32_t threads) const {
  if (module_ == nullptr) return CUfunction(nullptr);
  CLEAVE_CHECK(device_->make_current());
  const Driver& driver = device_->driver();
  CUfunction out = nullptr;
  CLEAVE_CHECK(driver.check(driver.cuModuleGetFunction(&out, module_, symbol.c_str()),
                            fmt::format("looking for kernel {}", symbol)));
  int most = 0;  // asking for it loads the function
  CLEAVE_CHECK(driver.check(driver.cuFuncGetAttribute(&most, cuda_max_threads, out),
                            fmt::format("loading kernel {}", symbol)));
  if (threads > most)
    return bug("cuda: {}: blocks of {} threads, of which its registers allow {}", symbol, threads,
               most);
  if (shared_bytes > plain_shared_bytes)
    CLEAVE_CHECK(
        driver.check(driver.cuFuncSetAttribute(out, cuda_dynamic_shared_bytes, shared_bytes),
                     fmt::format("{}: {} bytes of shared memory", symbol, shared_bytes)));
  return out;
}

}  // namespace cleave::cuda
