// Where a run may give up the memory of a placeholder.
//
//   0 relu(x)   1 mm(y, relu)   2 add(x, mm)   ->   y: 2, x: 3
//
// `end` counts thunks: the first that no longer needs it, 0 if none reads it. Of a reader in a loop
// it is behind the outermost loop around it, whose next iteration reads it again.
#pragma once
#include <vector>

#include "run/program.h"

namespace cleave {

struct LastRead {
  size_t end = 0, placeholder = 0;
};
// By rising `end`; without placeholders that are returned, which the caller reads after the run.
std::vector<LastRead> last_reads(const ThunkProgram& program);

}  // namespace cleave
