// Functions from here to target_end.h are compiled for AVX-512 (F, BW, DQ, VL), AVX512_BF16
// and AVX512_VNNI.
#include "runtime/avx512_intrinsics.h"

#if defined(__clang__)
#pragma clang attribute push(                                                               \
    __attribute__((                                                                         \
        target("avx512bf16,avx512vnni,avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c"))), \
    apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512bf16,avx512vnni,avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")
#pragma GCC optimize("O3")
#endif
