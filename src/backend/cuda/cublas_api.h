// The functions of cuBLASLt that cleave calls, opened at run time, and a handle of them. Names and
// numbers are those of NVIDIA's documentation (cuBLAS 12 and 13).
#pragma once
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "backend/cuda/find_library.h"

namespace cleave::cuda {

using CublasStatus = int;  // 0: it worked

enum class CublasType : int { f32 = 0, f64 = 1, f16 = 2, bf16 = 14 };
enum class CublasCompute : int { f32 = 68, f64 = 70 };
enum class CublasLayoutAttribute : int { batch_count = 5, batch_stride = 6 };
enum class CublasProductAttribute : int {
  transpose_a = 3,
  transpose_b = 4,
  epilogue = 7,
  bias = 8,
  bias_type = 26
};
enum class CublasPreferenceAttribute : int {
  workspace_bytes = 1,
  reductions = 3,
  alignment_a = 5,
  alignment_b = 6,
  alignment_c = 7,
  alignment_d = 8
};
constexpr int32_t cublas_transpose = 1;
constexpr int32_t cublas_epilogue_bias = 4;
// Partial sums are added up in the type of the sums, so that a result is rounded once.
constexpr uint32_t cublas_reduction_in_sums = 2;

// Opaque: what the heuristic chose.
struct CublasAlgorithm {
  uint64_t data[8];
};
struct CublasHeuristic {
  CublasAlgorithm algorithm;
  size_t workspace_bytes;
  CublasStatus status;
  float waves;
  int reserved[4];
};

using CublasHandle = struct CublasHandleTag*;
using CublasProduct = struct CublasProductTag*;
using CublasLayout = struct CublasLayoutTag*;
using CublasPreference = struct CublasPreferenceTag*;

struct CublasApi {
  CublasStatus (*create)(CublasHandle*);
  CublasStatus (*destroy)(CublasHandle);
  CublasStatus (*product_create)(CublasProduct*, CublasCompute, CublasType scale);
  CublasStatus (*product_destroy)(CublasProduct);
  CublasStatus (*product_set)(CublasProduct, CublasProductAttribute, const void*, size_t);
  CublasStatus (*layout_create)(CublasLayout*, CublasType, uint64_t rows, uint64_t columns,
                                int64_t leading);
  CublasStatus (*layout_destroy)(CublasLayout);
  CublasStatus (*layout_set)(CublasLayout, CublasLayoutAttribute, const void*, size_t);
  CublasStatus (*preference_create)(CublasPreference*);
  CublasStatus (*preference_destroy)(CublasPreference);
  CublasStatus (*preference_set)(CublasPreference, CublasPreferenceAttribute, const void*, size_t);
  CublasStatus (*heuristic)(CublasHandle, CublasProduct, CublasLayout a, CublasLayout b,
                            CublasLayout c, CublasLayout d, CublasPreference, int wanted,
                            CublasHeuristic*, int* found);
  CublasStatus (*matmul)(CublasHandle, CublasProduct, const void* alpha, const void* a,
                         CublasLayout, const void* b, CublasLayout, const void* beta, const void* c,
                         CublasLayout, void* d, CublasLayout, const CublasAlgorithm*,
                         void* workspace, size_t workspace_bytes, void* queue);
};

// A handle, made when it is first asked for: that takes a device. Any thread may ask.
class Cublas {
 public:
  explicit Cublas(const CublasApi& api) : api_(api) {}
  ~Cublas();
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;
  const CublasApi& api() const { return api_; }
  CublasHandle handle() const;  // a failure is a Bug, thrown

 private:
  const CublasApi api_;
  mutable std::mutex mutex_;
  mutable CublasHandle handle_ = nullptr;
};

// From an opened library; Unsupported names the function that it lacks.
Result<CublasApi> find_cublas(const OpenedLibrary& library);

}  // namespace cleave::cuda
