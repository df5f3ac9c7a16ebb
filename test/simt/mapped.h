// A text's loops as threads, for the tests of map_threads.h.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>

#include "simt/map_threads.h"
#include "test/simt/threads.h"

namespace cleave::simt {

inline Kernel mapped(const std::string& text) { return map_threads(test::loops(text)); }

// That it is right for each N (and R).
inline void expect_right(const std::string& text, std::initializer_list<int64_t> sizes,
                         int64_t r = 0) {
  for (const int64_t n : sizes) {
    const std::string at = test::with(text, {{"2N", 2 * n}, {"3N", 3 * n}, {"N", n}, {"R", r}});
    EXPECT_EQ(test::wrong(at), "") << "N = " << n << ", R = " << r << "\n" << at;
  }
}

inline bool has_space(const Kernel& k, const std::string& name, Space space) {
  return std::ranges::any_of(k.buffers, [&](const Buffer& b) {
    return b.name == name && b.access == loop::Access::local && b.space == space;
  });
}

inline const std::string sums_of_columns =
    "kernel %y(%x: f32[R] read, %y: f32[N] write) work R {\n  for p in C parallel {\n"
    "    for c in min(N - p*64, 64) lanes {\n"
    "      fold over r in K {\n        s = sum of %x[r*N + p*64 + c]\n      }\n"
    "      %y[p*64 + c] = s\n    }\n  }\n}\n";

inline std::string sums_of_columns_of(int64_t n, int64_t rows) {
  return test::with(sums_of_columns,
                    {{"N", n}, {"R", n * rows}, {"C", (n + 63) / 64}, {"K", rows}});
}

}  // namespace cleave::simt
