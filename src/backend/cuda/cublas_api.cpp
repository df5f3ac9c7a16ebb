#include "backend/cuda/cublas_api.h"

#include <type_traits>

#include "backend/cuda/find_library.h"

namespace cleave::cuda {

Cublas::~Cublas() {
  if (handle_ != nullptr) api_.destroy(handle_);
}

CublasHandle Cublas::handle() const {
  const std::lock_guard lock(mutex_);
  if (handle_ == nullptr)
    if (const CublasStatus status = api_.create(&handle_); status != 0)
      throw_bug("cublasLtCreate: status {}", status);
  return handle_;
}

Result<CublasApi> find_cublas(const OpenedLibrary& library) {
  CublasApi api{};
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(find_symbol(library, name));
    return function != nullptr ? Status() : unsupported("{} has no {}", library.path, name);
  };
  CLEAVE_CHECK(find(api.create, "cublasLtCreate"));
  CLEAVE_CHECK(find(api.destroy, "cublasLtDestroy"));
  CLEAVE_CHECK(find(api.product_create, "cublasLtMatmulDescCreate"));
  CLEAVE_CHECK(find(api.product_destroy, "cublasLtMatmulDescDestroy"));
  CLEAVE_CHECK(find(api.product_set, "cublasLtMatmulDescSetAttribute"));
  CLEAVE_CHECK(find(api.layout_create, "cublasLtMatrixLayoutCreate"));
  CLEAVE_CHECK(find(api.layout_destroy, "cublasLtMatrixLayoutDestroy"));
  CLEAVE_CHECK(find(api.layout_set, "cublasLtMatrixLayoutSetAttribute"));
  CLEAVE_CHECK(find(api.preference_create, "cublasLtMatmulPreferenceCreate"));
  CLEAVE_CHECK(find(api.preference_destroy, "cublasLtMatmulPreferenceDestroy"));
  CLEAVE_CHECK(find(api.preference_set, "cublasLtMatmulPreferenceSetAttribute"));
  CLEAVE_CHECK(find(api.heuristic, "cublasLtMatmulAlgoGetHeuristic"));
  CLEAVE_CHECK(find(api.matmul, "cublasLtMatmul"));
  return api;
}

}  // namespace cleave::cuda
