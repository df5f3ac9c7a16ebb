// The processor that generated code is for: the one that this process runs on.
#pragma once
#include <string>
#include <vector>

namespace cleave::runtime {

struct HostTarget {
  std::string triple;                 // "x86_64-pc-linux-gnu"
  std::string cpu;                    // "znver4"
  std::vector<std::string> features;  // "+avx2", "-sse4a", ...: sorted
  std::string feature_text;           // the same, joined by commas
  std::string vector_bits;            // the widest vectors that loops are cut into

  static HostTarget here();
};

}  // namespace cleave::runtime
