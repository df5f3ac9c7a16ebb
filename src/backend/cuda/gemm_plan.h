// How cuBLASLt computes a product: which operands are copied first, and the matrices as it sees
// them. It is column-major, so what it computes is the transpose:
//
//   C^T [n, m] = alpha * B^T [n, k] A^T [k, m] + beta * C_in^T
//
// A row-major matrix is its transpose as it lies; one that lies by columns is transposed by
// cuBLASLt.
#pragma once
#include <optional>

#include "backend/cuda/cublas_product.h"
#include "backend/cuda/device/arguments.h"
#include "library/gemm_spec.h"

namespace cleave::cuda {

// Of cuBLASLt; storages are aligned to less.
constexpr int64_t workspace_alignment = 256;

struct GemmPlan {
  enum class CIn { none, bias, direct, placed };  // placed: copied into C first
  // An operand that is copied into the workspace, dense, as `dtype`.
  struct Copy {
    DType from = DType::f32, dtype = DType::f32;
    device::CopyArguments at = {};
    int64_t offset = 0;  // bytes in the workspace
  };
  CublasProductSpec product;  // its A is our B
  std::optional<Copy> a, b;   // for nibbles and panels `at` isn't used
  CIn c_in = CIn::none;
  device::CopyArguments placed = {};
  // The library's workspace comes first, at a multiple of workspace_alignment.
  int64_t scratch_bytes = 0;
};

// nullopt: not by cuBLASLt.
std::optional<GemmPlan> plan_gemm(const GemmSpec& spec);

inline int64_t row_of_c(const GemmSpec& s) { return s.c_row == 0 ? s.n : s.c_row; }
inline int64_t batch_of_c(const GemmSpec& s) { return s.c_row == 0 ? s.m * s.n : s.c_batch; }

}  // namespace cleave::cuda
