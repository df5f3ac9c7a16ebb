// What is known of an emitted kernel beside its text: its phases (c_source.h says what one is), and
// what its failed checks say.
#pragma once
#include <cstdint>
#include <string>

namespace cleave::emit {

struct Phase {
  std::string symbol;
  int64_t extent = 1;  // iterations of the parallel loop; 1 for a serial phase
};

// The message of a failed check; a bound of -1 in the fault means that `message` is all of it.
struct CheckText {
  std::string message;
  bool from_zero = false;  // the range is [0, bound), else [-bound, bound)
};

}  // namespace cleave::emit
