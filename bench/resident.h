// The resident memory of this process, in bytes.
#pragma once
#include <cstdint>
#include <fstream>
#include <string>

namespace cleave::bench {

// VmRSS: now; VmHWM: the maximum so far. 0 if the system doesn't report it.
inline int64_t resident_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == key + ":") {
      int64_t kib = 0;
      status >> kib;
      return kib * 1024;
    }
  return 0;
}

}  // namespace cleave::bench
