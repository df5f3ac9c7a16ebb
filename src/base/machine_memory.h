#pragma once
// How much memory this machine has.
#include <sys/sysinfo.h>

#include <cstdint>

namespace cleave {

struct MachineMemory {
  uint64_t physical, swap;  // bytes
};

inline MachineMemory machine_memory() {
  struct sysinfo info = {};
  if (::sysinfo(&info) != 0) return {UINT64_MAX / 2, 0};  // not known: the system refuses
  return {static_cast<uint64_t>(info.totalram) * info.mem_unit,
          static_cast<uint64_t>(info.totalswap) * info.mem_unit};
}

}  // namespace cleave
