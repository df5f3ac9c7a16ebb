// A library call by a plan of cuDNN, which is made at the first call. Where it can't be (cuDNN
// refuses it or isn't there, a pointer isn't aligned to 16 bytes), the call is that of our own
// kernels, compiled then.
//
// By is a type with
//
//   static int64_t scratch_bytes(const Spec&)                       multiple of 64
//   static Result<By> make(const Spec&, const CudnnPtr&, const LibraryDevice&)
//   void run(void* const* operands, void* scratch, void* queue) const
//   static bool reads(size_t position)                              whether cuDNN gets this pointer
//
// and our own call is make_plain(spec, device).
#pragma once
#include <algorithm>
#include <mutex>
#include <optional>

#include "backend/cuda/library_device.h"
#include "library/library_function.h"
#include "library/spec.h"
#include "run/run_context.h"

namespace cleave::cuda {

template <class Spec, class By>
class CudnnFunction final : public LibraryFunction {
 public:
  // plain_bytes: the workspace of our own call.
  CudnnFunction(const Spec& spec, LibraryDevicePtr device, int64_t plain_bytes = 0)
      : spec_(spec), device_(std::move(device)), plain_bytes_(plain_bytes) {}

  int64_t scratch_bytes() const override {
    return std::max(By::scratch_bytes(spec_), plain_bytes_);
  }
  void call(void* const* operands, void* scratch, const RunContext& context) const override {
    if (const By* by = plan(); by != nullptr && is_aligned(operands))
      return by->run(operands, scratch, context.queue);
    plain().call(operands, scratch, context);
  }

 private:
  static bool is_aligned(void* const* operands) {
    for (size_t i = 0; i < max_library_operands; ++i)
      if (By::reads(i) && reinterpret_cast<uintptr_t>(operands[i]) % 16 != 0) return false;
    return true;
  }
  const By* plan() const {
    const std::lock_guard lock(mutex_);
    if (!is_sought_) {
      is_sought_ = true;
      if (const CudnnPtr cudnn = device_->cudnn())
        if (Result<By> made = By::make(spec_, cudnn, *device_); made.ok())
          plan_.emplace(*std::move(made));
    }
    return plan_ ? &*plan_ : nullptr;
  }
  const LibraryFunction& plain() const {
    const std::lock_guard lock(mutex_);
    if (!plain_) plain_ = value_or_bug(make_plain(spec_, *device_));
    return *plain_;
  }

  const Spec spec_;
  const LibraryDevicePtr device_;
  const int64_t plain_bytes_;
  mutable std::mutex mutex_;
  mutable bool is_sought_ = false;
  mutable std::optional<By> plan_;
  mutable LibraryFunctionPtr plain_;
};

}  // namespace cleave::cuda
