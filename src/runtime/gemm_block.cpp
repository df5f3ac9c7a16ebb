// The choice of gemm_block.h: by what the processor can do.
#include "runtime/gemm_block.h"

namespace cleave::runtime {

GemmBlockKernel gemm_block_kernel(DType dtype) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    if (dtype == DType::bf16 && __builtin_cpu_supports("avx512bf16"))
      return gemm_block_kernel_avx512bf16(dtype);
    return gemm_block_kernel_avx512(dtype);
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("f16c"))
    return gemm_block_kernel_avx2(dtype);
#endif
  return gemm_block_kernel_plain(dtype);
}

}  // namespace cleave::runtime
