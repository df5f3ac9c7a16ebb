// What depends on the column alone, and takes long to compute, is computed once for several rows:
//
//   for p in 4096 parallel {                 for q in 256 parallel {
//     for j in 128 independent {               for j in 128 independent { %s[j] = exp(j) }
//       let s = exp(j)                    ->   for r in 16 {
//       %y[p*128 + j] = %x[p*128 + j] * s        let p = q*16 + r
//     }                                          for j in 128 independent {
//   }                                              %y[p*128 + j] = %x[p*128 + j] * %s[j] } } }
//
// Values don't change.
#pragma once
#include <optional>

#include "loop/kernel.h"

namespace cleave::schedule {

// nullopt: the loop stays. The tables are local buffers that are added to the kernel; `variable`:
// the number of an unused one; it grows by those that are taken.
std::optional<loop::For> with_column_tables(loop::Kernel& kernel, const loop::For& rows,
                                            int64_t& variable);

}  // namespace cleave::schedule
