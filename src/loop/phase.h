// What every emitter returns besides the code of a kernel: its phases, and the messages of its
// checks. A phase is a parallel loop, or consecutive other statements, at the top level of the
// body.
#pragma once
#include <cstdint>
#include <string>

namespace cleave::loop {

struct Phase {
  std::string symbol;
  int64_t extent = 1;  // iterations of the parallel loop; 1 for a serial phase
};

// The message of a failed check. With a bound of -1 in the fault, `message` is all of it.
struct CheckText {
  std::string message;
  bool from_zero = false;  // the range is [0, bound), else [-bound, bound)
};

}  // namespace cleave::loop
