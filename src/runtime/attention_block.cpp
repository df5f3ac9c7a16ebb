// The choice of attention_block.h.
#include "runtime/attention_block.h"

namespace cleave::runtime {

AttentionKernel attention_kernel(DType dtype, InstructionSet set) {
  if (set >= InstructionSet::avx512) return attention_kernel_avx512(dtype);
  if (set >= InstructionSet::avx2) return attention_kernel_avx2(dtype);
  return attention_kernel_plain(dtype);
}

}  // namespace cleave::runtime
