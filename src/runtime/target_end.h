// Ends what avx2_begin.h, avx512_begin.h or avx512bf16_begin.h began.
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
