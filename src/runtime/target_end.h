// Ends the functions compiled for an instruction set by avx2_begin.h, avx512_begin.h or
// avx512bf16_begin.h.
#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
