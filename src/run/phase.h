// What every emitter returns besides the code of a kernel: its phases, and the messages of its
// checks. A phase is a parallel loop, or consecutive other statements, at the top level of the
// body.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace cleave {

// How a phase is started on a device. The arguments of its function are these buffers, these
// scalars, the kernel's number and the words of faults (ArenaMemory::fault).
struct Launch {
  int64_t blocks = 0;                      // below 2^31; 0: the phase has nothing to do
  int32_t threads = 0;                     // of a block, at most 1024
  int32_t shared_bytes = 0;                // beside what the function itself declares
  std::vector<uint32_t> buffers, scalars;  // positions among the kernel's
  std::vector<uint32_t> written;           // of the buffers, those that it may write

  bool operator==(const Launch&) const = default;
};

struct KernelPhase {
  std::string symbol;
  int64_t extent = 1;  // iterations of the parallel loop; 1 for a serial phase
  Launch launch = {};  // of a device
};

// The message of a failed check. With a bound of -1 in the fault, `message` is all of it.
struct CheckText {
  std::string message;
  bool from_zero = false;  // the range is [0, bound), else [-bound, bound)
};

// What runs where there is no machine code.
class InterpretedPhase {
 public:
  virtual ~InterpretedPhase() = default;
  virtual int64_t run(void* const* buffer, const int64_t* scalar, int64_t begin, int64_t end,
                      int64_t* fault) const = 0;
};

}  // namespace cleave
