// The choice of gemm_block.h.
#include "runtime/gemm_block.h"

namespace cleave::runtime {

GemmBlockKernel gemm_block_kernel(DType dtype, InstructionSet set) {
  if (set >= InstructionSet::avx512bf16 && dtype == DType::bf16)
    return gemm_block_kernel_avx512bf16(dtype);
  if (set >= InstructionSet::avx512) return gemm_block_kernel_avx512(dtype);
  if (set >= InstructionSet::avx2) return gemm_block_kernel_avx2(dtype);
  return gemm_block_kernel_plain(dtype);
}

GemmBlockKernel gemm_scaled_kernel(InstructionSet set) {
  if (set >= InstructionSet::avx512) return gemm_scaled_kernel_avx512();
  if (set >= InstructionSet::avx2) return gemm_scaled_kernel_avx2();
  return gemm_scaled_kernel_plain();
}

bool reads_as(DType stored, DType dtype) {
  const auto is_half = [](DType t) { return t == DType::bf16 || t == DType::f16; };
  if (stored == dtype) return true;
  if (stored == DType::i8 || stored == DType::u8)
    return dtype == DType::f32 || dtype == DType::i32 || is_half(dtype);
  return (dtype == DType::f32 && is_half(stored)) || (is_half(dtype) && stored == DType::f32);
}

}  // namespace cleave::runtime
