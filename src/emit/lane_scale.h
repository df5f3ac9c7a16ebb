// Words of elementary_functions.h with an instruction of AVX-512 each, for 16 lanes alone: 64 take
// them four times (BY_FOUR in lane_memory.h).
// clang-format off

// Written as comparisons they would be merged with the test for NaN in min_ and max_, to a longer
// chain from one value of a fold to the next.
INLINE f32x16 smaller_f32x16(f32x16 a, f32x16 b) {
#if defined(__AVX512F__) && defined(__clang__)
  return __builtin_ia32_minps512(a, b, 4);
#else
  return choose_f32x16(a < b, a, b);
#endif
}
INLINE f32x16 larger_f32x16(f32x16 a, f32x16 b) {
#if defined(__AVX512F__) && defined(__clang__)
  return __builtin_ia32_maxps512(a, b, 4);
#else
  return choose_f32x16(a > b, a, b);
#endif
}
INLINE f64x16 smaller_f64x16(f64x16 a, f64x16 b) { return choose_f64x16(a < b, a, b); }
INLINE f64x16 larger_f64x16(f64x16 a, f64x16 b) { return choose_f64x16(a > b, a, b); }
INLINE i32x16 smaller_i32x16(i32x16 a, i32x16 b) { return choose_i32x16(a < b, a, b); }
INLINE i32x16 larger_i32x16(i32x16 a, i32x16 b) { return choose_i32x16(a > b, a, b); }
INLINE i64x16 smaller_i64x16(i64x16 a, i64x16 b) { return choose_i64x16(a < b, a, b); }
INLINE i64x16 larger_i64x16(i64x16 a, i64x16 b) { return choose_i64x16(a > b, a, b); }

// x 2^n, as in kernel_functions.h.
INLINE f32x16 times_power_of_2_f32x16(f32x16 x, f32x16 turned) {
#ifdef __AVX512F__
  return __builtin_ia32_scalefps512_mask(x, turned - 12582912.0f, x, 0xffff, 4);
#else
  i32x16 n = (i32x16)turned - 0x4b400000, half = n >> 1;
  return x * (f32x16)((half + 127) << 23) * (f32x16)((n - half + 127) << 23);
#endif
}
