#include "backend/cuda/cudnn_api.h"

#include <type_traits>

namespace cleave::cuda {

CudnnType cudnn_type(DType dtype) {
  switch (dtype) {
    case DType::f64: return CudnnType::f64;
    case DType::bf16: return CudnnType::bf16;
    case DType::f16: return CudnnType::f16;
    default: return CudnnType::f32;
  }
}

Cudnn::~Cudnn() {
  if (handle_ != nullptr) api_.destroy(handle_);
}

std::string Cudnn::message(CudnnStatus status) const {
  char text[512] = "";
  if (api_.last_error != nullptr) api_.last_error(text, sizeof text);
  return fmt::format("status {}{}{}", status, text[0] == 0 ? "" : ": ", text);
}

CudnnHandle Cudnn::made(void* queue) const {
  if (handle_ == nullptr)
    if (const CudnnStatus status = api_.create(&handle_); status != 0)
      throw_bug("cudnnCreate: {}", message(status));
  if (const CudnnStatus status = api_.set_stream(handle_, queue); status != 0)
    throw_bug("cudnnSetStream: {}", message(status));
  return handle_;
}

Result<CudnnApi> find_cudnn(const OpenedLibrary& library) {
  CudnnApi api;
#define CLEAVE_FIND(name, symbol, parameters)                                    \
  api.name = reinterpret_cast<decltype(api.name)>(find_symbol(library, symbol)); \
  if (api.name == nullptr) return unsupported("{} has no {}", library.path, symbol);
  CLEAVE_CUDNN(CLEAVE_FIND)
#undef CLEAVE_FIND
  api.version = reinterpret_cast<decltype(api.version)>(find_symbol(library, "cudnnGetVersion"));
  if (api.version == nullptr) return unsupported("{} has no cudnnGetVersion", library.path);
  api.last_error =
      reinterpret_cast<decltype(api.last_error)>(find_symbol(library, "cudnnGetLastErrorString"));
  return api;
}

}  // namespace cleave::cuda
