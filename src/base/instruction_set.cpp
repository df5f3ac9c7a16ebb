// Detects what this processor has; no other file asks the processor.
#include "base/target.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace cleave {
namespace {

#if defined(__x86_64__)
// Linux gives the tile registers' memory to the threads of a process that asks for it; not where a
// stack for signals is too small for them. The numbers are of <asm/prctl.h> and of the registers.
bool may_use_tiles() {
#if defined(__linux__)
  constexpr int request_permission = 0x1023, tile_data = 18;
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
#else
  return false;
#endif
}

bool has_amx() {
  static const bool answer = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    constexpr unsigned bf16 = 1u << 22, tile = 1u << 24, int8 = 1u << 25;
    constexpr unsigned all = bf16 | tile | int8;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & all) != all) return false;
    return may_use_tiles();
  }();
  return answer;
}
#endif

}  // namespace

InstructionSet detect_instruction_set() {
#if defined(__aarch64__)
  return InstructionSet::neon;
#elif defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v4"))
    return !__builtin_cpu_supports("avx512bf16") || !__builtin_cpu_supports("avx512vnni")
               ? InstructionSet::avx512
           : has_amx() ? InstructionSet::amx
                       : InstructionSet::avx512bf16;
  if (__builtin_cpu_supports("x86-64-v3")) return InstructionSet::avx2;
#endif
  return InstructionSet::plain;
}

}  // namespace cleave
