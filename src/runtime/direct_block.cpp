// Chooses the inner loops for a dtype and an instruction set.
#include "runtime/direct_block.h"

namespace cleave::runtime {
namespace {

const DirectKernels& kernels_of(InstructionSet set) {
  if (set == InstructionSet::neon) return direct_kernels_neon;
  if (set >= InstructionSet::avx512) return direct_kernels_avx512;
  if (set >= InstructionSet::avx2) return direct_kernels_avx2;
  return direct_kernels_plain;
}

}  // namespace

DirectKernel direct_kernel(DType dtype, InstructionSet set) {
  switch (dtype) {
    case DType::f32: return kernels_of(set).f32;
    case DType::f64: return kernels_of(set).f64;
    case DType::bf16: return kernels_of(set).bf16;
    case DType::f16: return kernels_of(set).f16;
    default: return {};
  }
}

}  // namespace cleave::runtime
