// Values that depend on no placeholder, and which of them are worth being computed once.
//
//   %t = arange(...)   %a = mul(%t, %f)   %c = cos(%a)   %y = mul(%x, %c)       %c is, %t isn't
//
// A kernel reads what is computed once, and computes again what isn't. So what counts is the work
// for each element: that of a value's own call, and of the calls before it that would run in the
// same kernel. An operand that is broadcast counts for little, since it can be computed once by
// itself.
//
//   views          never: what they show may be
//   uniforms       never: one number everywhere
//   pointwise      from `least_flops` for each 4 bytes of the value on
//   others         always: sums, products, sorts, which no reader computes on its way
//
// and in both cases only with `least_work` flops in all, and where another call than these reads
// it: what the program alone returns would be in memory twice.
#pragma once
#include "ir/graph.h"

namespace cleave {

struct ConstantLimits {
  int64_t least_flops = 8;
  int64_t least_work = 1 << 14;
};

// By value: whether it is computed from nothing, by calls that give the same in each run. Calls of
// the host program's operators don't count, nor do those that may fail on what they read, nor
// graphs of control flow.
std::vector<bool> constant_values(const Graph& g);

// In the order of the calls. Values of symbolic sizes aren't among them.
Values dear_constants(const Graph& g, const ConstantLimits& limits);

}  // namespace cleave
