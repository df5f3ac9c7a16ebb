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

}  // namespace cleave::runtime
