// The features of an x86-64 processor by the names that GCC gives them, as far as generated code
// and the library's kernels may use them. Code for aarch64 uses what each of its processors has:
// its lists are empty.
#pragma once
#include <string>
#include <vector>

#include "cleave/target.h"

namespace cleave::standalone {

// Those of this processor.
std::vector<std::string> features_here();
// What a target needs: those of its level, or for a native one all of this processor's.
std::vector<std::string> features_of(const Target& target);
// Those that this processor lacks.
std::vector<std::string> missing_here(const std::vector<std::string>& features);

}  // namespace cleave::standalone
