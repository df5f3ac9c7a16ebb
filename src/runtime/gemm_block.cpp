// Chooses the kernels for a dtype and an instruction set.
#include "runtime/gemm_block.h"

namespace cleave::runtime {
namespace {

const GemmBlockKernels& kernels_of(InstructionSet set) {
  if (set == InstructionSet::neon) return gemm_kernels_neon;
  if (set >= InstructionSet::avx512) return gemm_kernels_avx512;
  if (set >= InstructionSet::avx2) return gemm_kernels_avx2;
  return gemm_kernels_plain;
}

}  // namespace

GemmBlockKernel GemmBlockKernels::of(DType dtype) const {
  switch (dtype) {
    case DType::f64: return f64;
    case DType::f32: return f32;
    case DType::bf16: return bf16;
    case DType::f16: return f16;
    case DType::i64: return i64;
    case DType::i32: return i32;
    case DType::i16: return i16;
    case DType::i8: return i8;
    case DType::u8: return u8;
    case DType::boolean:
    case DType::c64: break;
  }
  return {};
}

GemmBlockKernel gemm_block_kernel(DType dtype, InstructionSet set) {
  if (set >= InstructionSet::amx && dtype == DType::bf16) return gemm_kernels_amx.bf16;
  if (set >= InstructionSet::avx512bf16 && dtype == DType::bf16)
    return gemm_kernels_avx512bf16.bf16;
  return kernels_of(set).of(dtype);
}

GemmBlockKernel gemm_bytes_kernel(DType a, DType b, InstructionSet set) {
  if (set >= InstructionSet::amx && a == DType::i8 && b == DType::i8) return gemm_kernels_amx.bytes;
  return set >= InstructionSet::avx512bf16 ? gemm_kernels_avx512bf16.bytes : kernels_of(set).bytes;
}

GemmBlockKernel gemm_scaled_kernel(InstructionSet set) {
  if (set >= InstructionSet::amx) return gemm_kernels_amx.scaled;
  return set >= InstructionSet::avx512bf16 ? gemm_kernels_avx512bf16.scaled
                                           : kernels_of(set).scaled;
}

}  // namespace cleave::runtime
