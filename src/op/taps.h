// Linear maps along the last dims of a tensor, of which each result reads a few places ("taps"):
// pooling, resampling, padding by edges, and their transposes.
//
//   y[.., o1, o2] = sum over taps a of o1, b of o2 of  weight(a) weight(b) x[.., at(a), at(b)]
//
// A map names the taps of each dim apart. The transpose names, for a place of x, the results that
// read it.
#pragma once
#include <functional>
#include <vector>

#include "loop/kernel_builder.h"

namespace cleave {

struct Tap {
  loop::Expr at;           // in range, even where it doesn't count
  loop::Expr weight = {};  // of the type that is summed; undefined: 1
  loop::Expr inside = {};  // whether it counts; undefined: always
  // Whether the place is read once more with weight 0, which infinity makes NaN; undefined: never.
  loop::Expr again = {};
};

struct DimTaps {
  int64_t count = 1;  // the most that a result has
  // Tap number t of result o.
  std::function<Tap(loop::KernelBuilder&, const loop::Expr& o, const loop::Expr& t)> tap;
};

// The sum for the result at `index`, whose last dims are mapped; in the compute type of operand
// `flat`. Few taps are written out, many are a loop.
loop::Expr sum_of_taps(loop::KernelBuilder& k, int flat, const loop::Exprs& index,
                       const std::vector<DimTaps>& dims);

// ---- integer expressions

loop::Expr at_least(const loop::Expr& a, const loop::Expr& b);  // max
loop::Expr at_most(const loop::Expr& a, const loop::Expr& b);   // min
loop::Expr clamped(const loop::Expr& v, int64_t size);          // into [0, size)
loop::Expr in_range(const loop::Expr& v, int64_t size);         // whether it is in [0, size)
// Quotients of numbers that are not negative.
loop::Expr quotient(const loop::Expr& a, int64_t b);
loop::Expr quotient_up(const loop::Expr& a, int64_t b);
// a and b; either may be undefined, which is true.
loop::Expr both_hold(const loop::Expr& a, const loop::Expr& b);
// a or b; either may be undefined, which is false.
loop::Expr either_holds(const loop::Expr& a, const loop::Expr& b);

}  // namespace cleave
