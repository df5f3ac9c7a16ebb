// The memory traffic of a lowered program in bytes, counted from its loops.
//
// For each buffer of a kernel: its accesses times the iterations of the loops around them, at most
// its size; separately for reads and writes. What several passes over a row read alike is one
// access. Partial sums and scratch in memory count like any other buffer, local buffers (registers,
// stack) not at all. A library call or a call of the host program's code reads its distinct
// operands and writes its results. A copy to the host's memory reads its storage, one from there
// writes it.
#pragma once
#include <string>
#include <vector>

#include "lower/program.h"

namespace cleave {

struct KernelTraffic {
  std::string name;               // of the first value that it computes
  std::string kind;               // kernel, product, attention, convolution, sort, foreign, jump,
                                  // transfer
  int64_t read = 0, written = 0;  // bytes
  int64_t flops = 0;              // of a library call
};

KernelTraffic traffic_of(const LoweredProgram& program, const Thunk& thunk);
// One for each thunk that moves anything.
std::vector<KernelTraffic> traffic_of(const LoweredProgram& program);

int64_t total_bytes(const std::vector<KernelTraffic>& kernels);

}  // namespace cleave
