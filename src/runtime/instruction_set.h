// The instruction sets that some code is compiled for apart (*_avx2.cpp, *_avx512.cpp, ...), each
// with all before it.
#pragma once

namespace cleave::runtime {

enum class InstructionSet {
  plain,       // of any processor
  avx2,        // AVX2, FMA, F16C
  avx512,      // AVX-512 F, BW, DQ, VL
  avx512bf16,  // AVX512_BF16
};

// The last one that this processor has.
inline InstructionSet instruction_set() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return __builtin_cpu_supports("avx512bf16") ? InstructionSet::avx512bf16
                                                : InstructionSet::avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("f16c"))
    return InstructionSet::avx2;
#endif
  return InstructionSet::plain;
}

}  // namespace cleave::runtime
