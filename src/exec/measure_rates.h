// Measures the rates of a Target on this machine, by programs that are compiled and run as any
// other. Takes a few seconds. Only `cleave tune` does it: plans made from measured rates may differ
// from one measurement to the next.
#pragma once
#include "cleave/executor.h"
#include "cleave/target.h"
#include "ir/op_def.h"

namespace cleave {

// With all threads of the executor. Each rate is the best of many runs, rounded to three digits.
// Errors: unsupported if the target can't run here; those of compiling and running.
Result<MachineRates> measure_rates(const OpRegistry& ops, const Target& target,
                                   std::shared_ptr<Executor> executor);

}  // namespace cleave
