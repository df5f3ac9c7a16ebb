// What work costs on this machine: the rates of a Target, measured by programs that are compiled
// and run as any other. Takes a few seconds; nothing asks for it but `cleave tune`, since what is
// planned from a measurement may differ from one to the next.
#pragma once
#include "cleave/executor.h"
#include "cleave/target.h"
#include "ir/op_def.h"

namespace cleave {

// By all threads of the executor; each is the best of many runs, rounded to three digits.
// Errors: unsupported where the target can't run here; those of compiling and running.
Result<MachineRates> measure_rates(const OpRegistry& ops, const Target& target,
                                   std::shared_ptr<Executor> executor);

}  // namespace cleave
