// Ends what neon_begin.h began.
#if defined(__aarch64__) && !defined(__clang__)
#pragma GCC pop_options
#endif
