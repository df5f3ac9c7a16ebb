// The choice of attention_block.h: by what the processor can do, as that of gemm_block.h.
#include "runtime/attention_block.h"

namespace cleave::runtime {

AttentionKernel attention_kernel(DType dtype) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return attention_kernel_avx512(dtype);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("f16c"))
    return attention_kernel_avx2(dtype);
#endif
  return attention_kernel_plain(dtype);
}

}  // namespace cleave::runtime
