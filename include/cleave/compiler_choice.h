// What compiles a program's kernels.
#pragma once
#include <cstdint>

namespace cleave {

// What compiles the generated C text: clang in this process (if built in, about 5 ms a kernel), or
// the system's cc as a separate process. none: nothing is compiled and kernels are interpreted,
// with the same bits of results in 20 to 100 times the time. automatic: clang, without it cc,
// without either none, of which Report::warnings says no_compiler.
enum class CompilerChoice : uint8_t { automatic, clang, cc, none };

}  // namespace cleave
