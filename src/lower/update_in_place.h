// Writes an update directly into the placeholder's memory if its value is computed after the last
// thunk that may fail and after the last read of the placeholder by others. A thunk that reads the
// placeholder itself must be a kernel that reads each element at the address that it writes. Where
// the value is written in pieces (LoweredProgram::in_pieces), each of its thunks may be one. Thunks
// in loops are excluded.
#pragma once
#include "lower/program.h"

namespace cleave {

// What calls behind a failed check do. Where only kernels know of it, a library call of a program
// that may fail writes no placeholder: it would do so behind a failure, too.
enum class BehindFailure : uint8_t { nothing_runs, library_calls_run };

void update_in_place(LoweredProgram& program, BehindFailure behind = BehindFailure::nothing_runs);

}  // namespace cleave
