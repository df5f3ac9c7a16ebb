// Random tensors in training steps: new numbers in each step, from the program's (seed, step).
//
//   Tensor z = mean + randn_like(mean) * exp(0.5 * log_variance);
//
// Philox 4x32-10: element k of call number n of a program has the same bits on every machine and
// for any number of threads (TrainOptions::seed is the key). No gradient flows into them. Errors
// (user), at the caller's line: `self` isn't floating, or belongs to no program, or to one of
// compile(), which draws no random numbers: pass them as an input (Generator).
#pragma once
#include "cleave/function.h"

namespace cleave {

// Has self's shape and dtype; uniform in [0, 1), multiples of 2^-24.
CLEAVE_API Tensor rand_like(const Tensor& self, Location at = Location::current());
// Has self's shape and dtype; normal with mean 0 and deviation 1 (Box-Muller).
CLEAVE_API Tensor randn_like(const Tensor& self, Location at = Location::current());

}  // namespace cleave
