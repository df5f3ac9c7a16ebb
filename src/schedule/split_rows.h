// Turns a parallel loop over rows of n elements each:
//
//   for p in 64*n parallel { let i = p mod n   let q = p div n   ... }
//
// into a loop over the rows q and one over each row's elements, in which i grows by one:
//
//   for p in 64*n parallel rows n shared 1 { let q = p div n   let i = p - q*n   ... }
#pragma once
#include "loop/kernel.h"

namespace cleave::schedule {

// Moves what a row shares to the front; the values don't change. nullopt: no loop over rows.
std::optional<loop::For> split_rows(const loop::For& f);

}  // namespace cleave::schedule
