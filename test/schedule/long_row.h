// A kernel whose rows are read twice, for tests of what prefetches the next one.
#pragma once
#include <string>

#include "loop/parse.h"
#include "schedule/schedule.h"

namespace cleave::test {

// A maximum over each row of n elements of %x, s2, then `second`, statements in which N is n. The
// row is %x[p0*N] to %x[p0*N + N - 1].
inline loop::Kernel long_row(const std::string& n, const std::string& second) {
  std::string text =
      "kernel %y(%x: f32[65536] read, %y: f32[65536] write, %z: f32[65536] write) work 65536 {\n"
      "  for p0 in 8 parallel {\n    fold over r1 in N {\n      s2 = max of %x[p0*N + r1]\n    "
      "}\n" +
      second + "  }\n}\n";
  for (size_t at; (at = text.find('N')) != text.npos;) text.replace(at, 1, n);
  return schedule::schedule(value_or_throw(loop::parse_kernel(text, "t")));
}

}  // namespace cleave::test
