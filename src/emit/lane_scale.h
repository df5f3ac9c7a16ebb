// Primitives of elementary_functions.h with one AVX-512 instruction each, for 16 lanes only: 64
// lanes call them four times (BY_FOUR in lane_memory.h).
// clang-format off

// Written as comparisons they would be merged with the test for NaN in min_ and max_, which makes
// the chain from one value of a fold to the next longer.
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

// table[k] where k are the lowest four bits.
INLINE f32x16 of_16_f32x16(f32x16 table, f32x16 at) {
#if defined(__AVX512F__) && defined(__clang__)
  return __builtin_ia32_permvarsf512(table, (i32x16)at);
#elif defined(__AVX2__) && defined(__clang__)
  typedef float part __attribute__((vector_size(32)));
  typedef int32_t index __attribute__((vector_size(32)));
  part low, high, out[2];
  index number[2];
  __builtin_memcpy(&low, &table, sizeof low);
  __builtin_memcpy(&high, (const char *)&table + sizeof low, sizeof high);
  __builtin_memcpy(number, &at, sizeof number);
  for (int k = 0; k < 2; ++k)
    out[k] = __builtin_ia32_blendvps256(__builtin_ia32_permvarsf256(low, number[k]),
                                        __builtin_ia32_permvarsf256(high, number[k]),
                                        (part)(number[k] << 28));
  f32x16 all;
  __builtin_memcpy(&all, out, sizeof all);
  return all;
#elif defined(__clang__)
  f32x16 out;
  for (int l = 0; l < 16; ++l) out[l] = table[((i32x16)at)[l] & 15];
  return out;
#else
  return __builtin_shuffle(table, (i32x16)at);
#endif
}
// As in kernel_functions.h.
INLINE f32x16 root_of_2_f32x16(f32x16 turned) {
  const f32x16 root = {
      1.0f, 1.044273782f, 1.090507733f, 1.138788635f,
      1.189207115f, 1.241857812f, 1.296839555f, 1.354255547f,
      1.414213562f, 1.476826146f, 1.542210825f, 1.610490332f,
      1.681792831f, 1.75625216f, 1.834008086f, 1.915206561f};
  return of_16_f32x16(root, turned);
}
INLINE f32x16 root_rest_of_2_f32x16(f32x16 turned) {
  const f32x16 rest = {
      0.0f, 4.833470144e-08f, -1.307754019e-08f, 5.386222144e-08f,
      3.797635388e-08f, 4.496838151e-08f, -4.018999375e-08f, -1.012334897e-08f,
      2.420323421e-08f, -4.500898702e-08f, 8.070904691e-09f, 9.836217199e-09f,
      -2.475532726e-08f, -9.235770341e-09f, -1.123927814e-08f, 9.845328446e-09f};
  return of_16_f32x16(rest, turned);
}
INLINE f32x16 times_power_of_2_f32x16(f32x16 x, f32x16 turned) {
#ifdef __AVX512F__
  return __builtin_ia32_scalefps512_mask(x, turned - 786432.0f, x, 0xffff, 4);
#else
  i32x16 m = ((i32x16)turned - 0x49400000) >> 4, half = m >> 1;
  return x * (f32x16)((half + 127) << 23) * (f32x16)((m - half + 127) << 23);
#endif
}
