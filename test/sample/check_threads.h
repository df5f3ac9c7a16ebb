// The kernels of a random graph as the threads of a GPU run them, against the same loops as
// bytecode, on the same random memory.
#pragma once
#include "ir/op_def.h"
#include "loop/kernel.h"

namespace cleave::random {

struct ThreadsVerdict {
  int64_t kernels = 0, phases = 0, threads = 0;
  // Kernels whose results rounding decides: inputs that differ in their last bits change them as
  // much as the order of sums has.
  int64_t left_open = 0;
  std::string wrong = {};  // what the first wrong kernel did; empty: all are right
  std::string text = {};   // of that kernel's loops
};

// Of kernels that are scheduled; contents are drawn from the seed.
ThreadsVerdict check_threads(const std::vector<loop::Kernel>& kernels, uint64_t seed);
// Of the graph of this seed, every other one with its gradients. A graph without kernels is right.
Result<ThreadsVerdict> check_threads(const OpRegistry& ops, uint64_t seed);
// The scheduled kernels of that graph.
Result<std::vector<loop::Kernel>> kernels_of_seed(const OpRegistry& ops, uint64_t seed);

}  // namespace cleave::random
