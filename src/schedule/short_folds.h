// Folds over fewer elements than a vector has lanes add them one by one, in order. What takes
// functions is computed in a vector first:
//
//   fold over r in 10 {                     for r in 10 independent {
//     let e = exp(%x[r] - m)        ->        let e = exp(%x[r] - m)
//     %kept[r] = e                            %kept[r] = e
//     s = sum of e                            %s[r] = e
//   }                                       }
//                                           fold over r2 in 10 { s = sum of %s[r2] }
//
// Values don't change, nor does the order of additions.
#pragma once
#include <optional>
#include <span>

#include "loop/kernel.h"

namespace cleave::schedule {

// Whether a loop over elements has lets and stores alone, and they or what it folds take functions.
bool takes_functions(const loop::Block& body, std::span<const loop::Fold> folds = {});

// The loop that takes its place before the fold, which then reads local buffers that are added to
// the kernel; nullopt: the fold stays. `variable`: the number of an unused one, which is taken.
std::optional<loop::For> split_short_fold(loop::Kernel& kernel, loop::Reduce& fold,
                                          int64_t& variable);

}  // namespace cleave::schedule
