// Values that lie in the host's memory while no call of a device's program touches them: the third
// answer to a budget, beside keeping a value and computing it again.
//
//   before                     after, where %c and %d give the copies time enough
//     a = product(x)             a = product(x)
//     b = gelu(a)                b = gelu(a)            begin_out a
//     c = ...                    c = ...                end_out a       a's memory is free
//     d = ...                    d = ...                begin_in a'
//     e = gelu_backward(g, a)    e = gelu_backward(g, a')               behind end_in a'
//
// How long calls take follows from their flops and bytes (traffic.h) and the rates of the machine;
// which values go, and when, is plan/offload.h's. Nothing waits for a copy, as far as those rates
// hold; where they don't, calls wait, and the values are the same.
#pragma once
#include "cleave/target.h"
#include "lower/program.h"

namespace cleave {

// Brings the arena, as plan_memory lays it out, within `room` bytes; false if that isn't found, or
// isn't needed: the program is as it was. Programs with jumps stay as they are.
bool offload(LoweredProgram& program, int64_t room, const MachineRates& rates);

// Bytes that a run copies out, and in again.
int64_t copied_out(const ThunkProgram& program);

}  // namespace cleave
