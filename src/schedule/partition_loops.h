// Splits loops where the tests of their variable change, so that most iterations test nothing:
//
//   for j in 56 {                                 for j in 1 { ... -inf ... }
//     x = %x[max(j*2 - 1, 0)]                     for j in 55 {
//     ... select(ge(j*2 - 1, 0), x, -inf) ...       x = %x[(j + 1)*2 - 1]   ... x ...
//   }                                             }
//
// In vectors such a loop reads neighbours instead of gathering them. Values don't change, nor does
// the order of iterations.
// Source: loop partitioning of Halide; index set splitting (M. Wolfe, High Performance Compilers).
#pragma once
#include <optional>

#include "loop/kernel.h"

namespace cleave::schedule {

// In innermost loops of a constant extent, where a part of 16 iterations or more loses its tests,
// or, in vectors, one of two or more in which elements would be gathered.
void partition_loops(loop::Kernel& kernel, bool in_vectors = true);

// Of a short loop in vectors the last one, where that isn't whole: compilers then know how many
// lanes it has. The loop keeps the whole ones. nullopt: it stays. `variable`: the number of an
// unused one, from which numbers are taken.
std::optional<loop::For> split_rest(loop::For& f, int64_t& variable);

}  // namespace cleave::schedule
