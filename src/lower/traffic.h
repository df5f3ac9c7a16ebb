// What the kernels of a lowered program move, read off their loops.
//
// Of each buffer of a kernel: the accesses times the iterations around them, but at most its size;
// once as read and once as written. Memory of its own that a kernel needs counts like any other;
// what stays in registers or on the stack counts nothing. A library call reads its distinct
// operands and writes its result. Unit: 4 bytes.
#pragma once
#include <string>
#include <vector>

#include "lower/program.h"

namespace cleave {

struct KernelTraffic {
  std::string name;               // of the first value that it computes
  std::string kind;               // kernel, product, attention, convolution, sort, foreign, jump
  int64_t read = 0, written = 0;  // bytes
  int64_t flops = 0;              // of a product, an attention or a convolution
};

KernelTraffic traffic_of(const LoweredProgram& program, const Step& step);
// One for each step that moves something.
std::vector<KernelTraffic> traffic_of(const LoweredProgram& program);

int64_t total_bytes(const std::vector<KernelTraffic>& kernels);

}  // namespace cleave
