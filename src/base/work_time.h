// How long a call takes by a target's rates.
#pragma once
#include <cstdint>

#include "cleave/target.h"

namespace cleave {

// Of a call that does so much, in ns, at least 1; `gflops` is the rate of its kind.
int64_t work_ns(int64_t flops, int64_t bytes, double gflops, const MachineRates& rates);

}  // namespace cleave
