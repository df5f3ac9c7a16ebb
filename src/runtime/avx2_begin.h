// Functions from here to target_end.h are compiled for AVX2, FMA and F16C; on another architecture
// nothing changes, and vec_avx2.h has sizes alone.
#if defined(__x86_64__)
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
#pragma GCC optimize("O3")
#endif
#endif
