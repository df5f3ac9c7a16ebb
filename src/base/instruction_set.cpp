// Detects what this processor has; no other file asks the processor.
#include "base/target.h"

namespace cleave {

InstructionSet detect_instruction_set() {
#if defined(__aarch64__)
  return InstructionSet::neon;
#elif defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v4"))
    return __builtin_cpu_supports("avx512bf16") ? InstructionSet::avx512bf16
                                                : InstructionSet::avx512;
  if (__builtin_cpu_supports("x86-64-v3")) return InstructionSet::avx2;
#endif
  return InstructionSet::plain;
}

}  // namespace cleave
