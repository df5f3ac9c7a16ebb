// A target in LLVM's terms.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "cleave/target.h"

namespace cleave::runtime {

struct HostTarget {
  std::string triple;                 // "x86_64-pc-linux-gnu"
  std::string cpu;                    // "znver4", "x86-64-v3"
  std::vector<std::string> features;  // "+avx2", "-sse4a", ...: sorted
  std::string feature_text;           // the same, joined by commas
  std::string vector_bits;            // the widest vectors for loops

  // text: target.text()
  static HostTarget of(const Target& target, std::string_view text);
};

}  // namespace cleave::runtime
