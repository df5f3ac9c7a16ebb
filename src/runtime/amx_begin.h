// Functions from here to target_end.h are compiled for AMX_BF16, AMX_INT8, AVX512_BF16 and AVX-512
// (F, BW, DQ, VL).
#include "runtime/avx512_intrinsics.h"

#if defined(__clang__)
#pragma clang attribute push(                                                    \
    __attribute__((target("amx-tile,amx-bf16,amx-int8,avx512bf16,"               \
                          "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c"))), \
    apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("amx-tile,amx-bf16,amx-int8,avx512bf16,avx512f,avx512bw,avx512dq,avx512vl")
#pragma GCC target("avx2,fma,f16c")
#pragma GCC optimize("O2")  // O3 makes three times the code and is no faster
#endif
