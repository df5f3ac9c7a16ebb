// Linear maps along the last dims of a tensor in which each result reads a few positions ("taps"):
// pooling, resampling, padding by edges, and their transposes.
//
//   y[.., o1, o2] = sum over taps a of o1, b of o2 of  weight(a) weight(b) x[.., at(a), at(b)]
//
// A map defines the taps of each dim separately. The transpose gives, for a position of x, the
// results that read it.
#pragma once
#include <functional>
#include <vector>

#include "loop/kernel_builder.h"

namespace cleave {

struct Tap {
  loop::Expr at;           // always in range, even if `inside` is false
  loop::Expr weight = {};  // of the accumulated type; undefined: 1
  loop::Expr inside = {};  // whether the tap counts; undefined: always
  // Whether the position is also read with weight 0, so that infinity gives NaN; undefined: never.
  loop::Expr again = {};
};

struct DimTaps {
  int64_t count = 1;  // the maximum for any result
  // Returns tap number t of result o.
  std::function<Tap(loop::KernelBuilder&, const loop::Expr& o, const loop::Expr& t)> tap;
};

// The sum for the result at `index`, whose last dims are mapped; in the compute type of operand
// `flat`. A few taps are unrolled, many become a loop.
loop::Expr sum_of_taps(loop::KernelBuilder& k, int flat, const loop::Exprs& index,
                       const std::vector<DimTaps>& dims);
// The same, where the dims from `first` on are mapped.
loop::Expr sum_of_taps_from(loop::KernelBuilder& k, int flat, const loop::Exprs& index,
                            size_t first, const std::vector<DimTaps>& dims);

// ---- integer expressions

loop::Expr at_least(const loop::Expr& a, const loop::Expr& b);  // max
loop::Expr at_most(const loop::Expr& a, const loop::Expr& b);   // min
loop::Expr clamped(const loop::Expr& v, int64_t size);          // into [0, size)
loop::Expr in_range(const loop::Expr& v, int64_t size);         // whether it is in [0, size)
// Quotient of non-negative numbers.
loop::Expr quotient(const loop::Expr& a, int64_t b);
loop::Expr quotient_up(const loop::Expr& a, int64_t b);
// a and b; either may be undefined, which means true.
loop::Expr both_hold(const loop::Expr& a, const loop::Expr& b);
// a or b; either may be undefined, which means false.
loop::Expr either_holds(const loop::Expr& a, const loop::Expr& b);

}  // namespace cleave
