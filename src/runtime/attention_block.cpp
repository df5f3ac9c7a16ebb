// Chooses the kernels for a dtype and an instruction set.
#include "runtime/attention_block.h"

namespace cleave::runtime {
namespace {

const AttentionKernels& kernels_of(InstructionSet set) {
  if (set == InstructionSet::neon) return attention_kernels_neon;
  if (set >= InstructionSet::avx512) return attention_kernels_avx512;
  if (set >= InstructionSet::avx2) return attention_kernels_avx2;
  return attention_kernels_plain;
}

}  // namespace

AttentionKernel attention_kernel(DType dtype, InstructionSet set) {
  if (set >= InstructionSet::amx && dtype == DType::bf16) return attention_kernels_amx.bf16;
  switch (dtype) {
    case DType::f32: return kernels_of(set).f32;
    case DType::bf16: return kernels_of(set).bf16;
    case DType::f16: return kernels_of(set).f16;
    default: return {};
  }
}

}  // namespace cleave::runtime
