// The choice of attention_block.h: by what the processor can do, as that of gemm_block.h.
#include "runtime/attention_block.h"

#include "runtime/instruction_set.h"

namespace cleave::runtime {

AttentionKernel attention_kernel(DType dtype) {
  const InstructionSet set = instruction_set();
  if (set >= InstructionSet::avx512) return attention_kernel_avx512(dtype);
  if (set >= InstructionSet::avx2) return attention_kernel_avx2(dtype);
  return attention_kernel_plain(dtype);
}

}  // namespace cleave::runtime
