// Division that rounds toward minus infinity:   a = b * floor_div(a, b) + floor_mod(a, b)
#pragma once
#include <cstdint>

namespace cleave {

// 0 where b is 0. The largest number for -2^63 / -1, which is none.
constexpr int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return a == INT64_MIN ? INT64_MAX : -a;
  const int64_t q = a / b;
  return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}

// Has the sign of b; 0 where b is 0.
constexpr int64_t floor_mod(int64_t a, int64_t b) {
  return b == 0 || b == -1 ? 0 : a - floor_div(a, b) * b;
}

}  // namespace cleave
