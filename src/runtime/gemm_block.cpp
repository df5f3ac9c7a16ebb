// The choice of gemm_block.h: by what the processor can do.
#include "runtime/gemm_block.h"

#include "runtime/instruction_set.h"

namespace cleave::runtime {

GemmBlockKernel gemm_block_kernel(DType dtype) {
  const InstructionSet set = instruction_set();
  if (set >= InstructionSet::avx512bf16 && dtype == DType::bf16)
    return gemm_block_kernel_avx512bf16(dtype);
  if (set >= InstructionSet::avx512) return gemm_block_kernel_avx512(dtype);
  if (set >= InstructionSet::avx2) return gemm_block_kernel_avx2(dtype);
  return gemm_block_kernel_plain(dtype);
}

}  // namespace cleave::runtime
