// Decides how each loop of a kernel runs; the C text and the bytecode of src/emit follow it.
//
//   for p in 8192 parallel { let i = truncmod(p, 128)   let q = truncdiv(p, 128)   ... }
//   for p in 8192 parallel rows 128 shared 1 by 16 tail { let q = ...   let i = p - q*128   ... }
//
//   for j in 100 independent                 for j in 100 independent by 16 tail
//   for c in min(64, n) lanes                for c in min(64, n) lanes by 64 tail
//   fold over r in 3000                      fold over r in 3000 blocks 128 by 16 tail
//   fold over i in 9, j in 7                 fold over i in 9, j in 7 ordered
//
// A loop without `by` runs its iterations one by one; a `lanes` loop runs each statement for all of
// its iterations. Values and their order don't change.
#pragma once
#include "loop/kernel.h"

namespace cleave::schedule {

// Whose lanes iterations run in: those of a processor's vectors, for which short loops are taken
// apart, or the threads of a GPU.
enum class RunsIn : uint8_t { vectors, threads };

// A scheduled kernel is returned as it is.
loop::Kernel schedule(const loop::Kernel& kernel, RunsIn in = RunsIn::vectors);

}  // namespace cleave::schedule
