// main() of the scaling benchmarks: sizes up to LARGEST, the first argument, default 1,000,000.
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "cleave/error.h"

namespace cleave::bench {

// The status of `run(largest)`; what it throws is printed.
template <class Run>
int run_scaling(int argc, char** argv, const Run& run) {
  try {
    return run(argc > 1 ? std::max(1000L, std::atol(argv[1])) : 1000000L);
  } catch (const Error& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
}

}  // namespace cleave::bench
