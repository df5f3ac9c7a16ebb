// Functions from here to neon_end.h are optimised as those of avx2_begin.h; each aarch64 has the
// instructions. On another architecture nothing changes, and vec_neon.h has sizes alone.
#if defined(__aarch64__)
#include <arm_neon.h>

#if !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("O3")
#endif
#endif
