// What every emitter says of a kernel beside its text: its phases, and what failed checks say. A
// phase is a parallel loop, or a run of other statements, at the top of the body.
#pragma once
#include <cstdint>
#include <string>

namespace cleave::loop {

struct Phase {
  std::string symbol;
  int64_t extent = 1;  // iterations of the parallel loop; 1 for a serial phase
};

// The message of a failed check; a bound of -1 in the fault means that `message` is all of it.
struct CheckText {
  std::string message;
  bool from_zero = false;  // the range is [0, bound), else [-bound, bound)
};

}  // namespace cleave::loop
