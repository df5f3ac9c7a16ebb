// Finds neighbouring library calls that run as one job: small products, none of which touches what
// another writes.
//
//   a = product(x, v)    }               thread 0   a a a c
//   b = product(y, w)    }  one job      thread 1   b b b c
//   c = product(x, y)    }
//   d = product(a, b)
//
// Alone, each wakes the threads, and leaves some of them idle at its end. The job has the same bits
// (LibraryFunction::call_joined). While it runs, all that its calls touch is alive, workspaces too:
// calls join only as far as that raises no bound of the program's memory.
#pragma once
#include "lower/program.h"

namespace cleave {

// The longest runs of neighbours that may be jobs, whatever memory they need.
std::vector<JoinedCalls> joinable_calls(const LoweredProgram& program);
// plan_memory of the program with its calls joined, or as they are where offsets are found only
// beyond that bound. To be called when thunks are final.
Result<PlannedProgram> plan_joined(LoweredProgram program);

}  // namespace cleave
