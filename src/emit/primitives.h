// The primitives that elementary_functions.h is written in: INLINE for one element and, beside it,
// LANES for lanes. The build (cmake/write_prelude.cmake) takes them apart:
//
//   INLINE      one element, in the emitted text and in C++ (c_functions.h)
//   LANES       16 lanes; with x16 replaced by x64, 64 lanes; so are macros named ..x16
//   LANES_16    16 lanes alone, one AVX-512 instruction each: 64 lanes call them four times
//               (BY_FOUR in lane_families.h)
//
// A truth value of lanes is i32 or i64 lanes of 0 and -1: choose_ takes the width of its operands.
// clang-format off

INLINE float bits_f32(uint32_t u) { float f; __builtin_memcpy(&f, &u, 4); return f; }
LANES f32x16 bits_f32x16(u32x16 u) { return (f32x16)u; }
INLINE uint32_t bits_u32(float f) { uint32_t u; __builtin_memcpy(&u, &f, 4); return u; }
LANES u32x16 bits_u32x16(f32x16 f) { return (u32x16)f; }
INLINE double bits_f64(uint64_t u) { double f; __builtin_memcpy(&f, &u, 8); return f; }
LANES f64x16 bits_f64x16(u64x16 u) { return (f64x16)u; }
INLINE uint64_t bits_u64(double f) { uint64_t u; __builtin_memcpy(&u, &f, 8); return u; }
LANES u64x16 bits_u64x16(f64x16 f) { return (u64x16)f; }
INLINE double whole_f64(int64_t i) { return (double)i; }
#define whole_f64x16(v) __builtin_convertvector(v, f64x16)
INLINE uint32_t widen_u16(uint16_t h) { return h; }
LANES u32x16 widen_u16x16(u16x16 h) { return __builtin_convertvector(h, u32x16); }
INLINE uint16_t narrow_u16(uint32_t u) { return (uint16_t)u; }
LANES u16x16 narrow_u16x16(u32x16 u) { return __builtin_convertvector(u, u16x16); }
INLINE float all_f32(float x) { return x; }
LANES f32x16 all_f32x16(float x) { return x - (f32x16){}; }
INLINE double all_f64(double x) { return x; }
LANES f64x16 all_f64x16(double x) { return x - (f64x16){}; }
INLINE int32_t all_i32(int32_t x) { return x; }
LANES i32x16 all_i32x16(int32_t x) { return x + (i32x16){}; }
INLINE int64_t all_i64(int64_t x) { return x; }
LANES i64x16 all_i64x16(int64_t x) { return x + (i64x16){}; }
INLINE uint32_t all_u32(uint32_t x) { return x; }
LANES u32x16 all_u32x16(uint32_t x) { return x + (u32x16){}; }
INLINE float to_f32(int32_t i) { return (float)i; }
#define to_f32x16(v) __builtin_convertvector(v, f32x16)
INLINE double to_f64(float x) { return x; }
#define to_f64x16(v) __builtin_convertvector(v, f64x16)
INLINE float narrow_f32(double x) { return (float)x; }
#define narrow_f32x16(v) __builtin_convertvector(v, f32x16)
INLINE int32_t low_i32(double x) {  // the lowest 32 bits
  uint64_t u; __builtin_memcpy(&u, &x, 8); return (int32_t)(uint32_t)u; }
LANES i32x16 low_i32x16(f64x16 v) { return to_i32x16((i64x16)v); }
INLINE float choose_f32(int c, float a, float b) { return c ? a : b; }
LANES f32x16 choose_f32x16(i32x16 c, f32x16 a, f32x16 b) {
#if LANE_PARTS
  return chosen(c, a, b);
#else
  return (f32x16)(((i32x16)a & c) | ((i32x16)b & ~c));
#endif
}
INLINE double choose_f64(int c, double a, double b) { return c ? a : b; }
LANES f64x16 choose_f64x16(i64x16 c, f64x16 a, f64x16 b) {
#if LANE_PARTS
  return chosen(c, a, b);
#else
  return (f64x16)(((i64x16)a & c) | ((i64x16)b & ~c));
#endif
}
INLINE int32_t choose_i32(int c, int32_t a, int32_t b) { return c ? a : b; }
LANES i32x16 choose_i32x16(i32x16 c, i32x16 a, i32x16 b) {
#if LANE_PARTS
  return chosen(c, a, b);
#else
  return (i32x16)(((i32x16)a & c) | ((i32x16)b & ~c));
#endif
}
INLINE int64_t choose_i64(int c, int64_t a, int64_t b) { return c ? a : b; }
LANES i64x16 choose_i64x16(i64x16 c, i64x16 a, i64x16 b) {
#if LANE_PARTS
  return chosen(c, a, b);
#else
  return (i64x16)(((i64x16)a & c) | ((i64x16)b & ~c));
#endif
}
INLINE uint32_t choose_u32(int c, uint32_t a, uint32_t b) { return c ? a : b; }
LANES u32x16 choose_u32x16(i32x16 c, u32x16 a, u32x16 b) {
#if LANE_PARTS
  return chosen(c, a, b);
#else
  return (u32x16)(((i32x16)a & c) | ((i32x16)b & ~c));
#endif
}
// Returns b if one of them is NaN.
INLINE float smaller_f32(float a, float b) { return a < b ? a : b; }
// Written as comparisons they would be merged with the test for NaN in min_ and max_, which makes
// the chain from one value of a fold to the next longer.
LANES_16 f32x16 smaller_f32x16(f32x16 a, f32x16 b) {
#if defined(__AVX512F__) && defined(__clang__)
  return __builtin_ia32_minps512(a, b, 4);
#elif LANE_PARTS
  return smaller_lanes(a, b);
#else
  return choose_f32x16(a < b, a, b);
#endif
}
INLINE float larger_f32(float a, float b) { return a > b ? a : b; }
LANES_16 f32x16 larger_f32x16(f32x16 a, f32x16 b) {
#if defined(__AVX512F__) && defined(__clang__)
  return __builtin_ia32_maxps512(a, b, 4);
#elif LANE_PARTS
  return larger_lanes(a, b);
#else
  return choose_f32x16(a > b, a, b);
#endif
}
INLINE double smaller_f64(double a, double b) { return a < b ? a : b; }
LANES_16 f64x16 smaller_f64x16(f64x16 a, f64x16 b) {
#if LANE_PARTS
  return smaller_lanes(a, b);
#else
  return choose_f64x16(a < b, a, b);
#endif
}
INLINE double larger_f64(double a, double b) { return a > b ? a : b; }
LANES_16 f64x16 larger_f64x16(f64x16 a, f64x16 b) {
#if LANE_PARTS
  return larger_lanes(a, b);
#else
  return choose_f64x16(a > b, a, b);
#endif
}
INLINE int32_t smaller_i32(int32_t a, int32_t b) { return a < b ? a : b; }
LANES_16 i32x16 smaller_i32x16(i32x16 a, i32x16 b) { return choose_i32x16(a < b, a, b); }
INLINE int32_t larger_i32(int32_t a, int32_t b) { return a > b ? a : b; }
LANES_16 i32x16 larger_i32x16(i32x16 a, i32x16 b) { return choose_i32x16(a > b, a, b); }
INLINE int64_t smaller_i64(int64_t a, int64_t b) { return a < b ? a : b; }
LANES_16 i64x16 smaller_i64x16(i64x16 a, i64x16 b) { return choose_i64x16(a < b, a, b); }
INLINE int64_t larger_i64(int64_t a, int64_t b) { return a > b ? a : b; }
LANES_16 i64x16 larger_i64x16(i64x16 a, i64x16 b) { return choose_i64x16(a > b, a, b); }
INLINE float fma_f32(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
LANES f32x16 fma_f32x16(f32x16 a, f32x16 b, f32x16 c) {
#if __has_builtin(__builtin_elementwise_fma) || LANE_PARTS
  return __builtin_elementwise_fma(a, b, c);
#elif defined(__AVX512F__)
  typedef float part __attribute__((vector_size(64)));
  part x[lanes_x16 / 16], y[lanes_x16 / 16], z[lanes_x16 / 16];
  __builtin_memcpy(x, &a, sizeof a);
  __builtin_memcpy(y, &b, sizeof b);
  __builtin_memcpy(z, &c, sizeof c);
  for (int k = 0; k < lanes_x16 / 16; ++k)
    x[k] = __builtin_ia32_vfmaddps512_mask(x[k], y[k], z[k], 0xffff, 4);
  __builtin_memcpy(&a, x, sizeof a);
  return a;
#else
  return EACH_3(f32x16, __builtin_fmaf, a, b, c);
#endif
}
INLINE double fma_f64(double a, double b, double c) { return __builtin_fma(a, b, c); }
LANES f64x16 fma_f64x16(f64x16 a, f64x16 b, f64x16 c) {
#if __has_builtin(__builtin_elementwise_fma) || LANE_PARTS
  return __builtin_elementwise_fma(a, b, c);
#elif defined(__AVX512F__)
  typedef double part __attribute__((vector_size(64)));
  part x[lanes_x16 / 8], y[lanes_x16 / 8], z[lanes_x16 / 8];
  __builtin_memcpy(x, &a, sizeof a);
  __builtin_memcpy(y, &b, sizeof b);
  __builtin_memcpy(z, &c, sizeof c);
  for (int k = 0; k < lanes_x16 / 8; ++k)
    x[k] = __builtin_ia32_vfmaddpd512_mask(x[k], y[k], z[k], 0xff, 4);
  __builtin_memcpy(&a, x, sizeof a);
  return a;
#else
  return EACH_3(f64x16, __builtin_fma, a, b, c);
#endif
}
// table[k] where k are the lowest four bits.
LANES_16 f32x16 of_16_f32x16(f32x16 table, f32x16 at) {
#if defined(__AVX512F__) && defined(__clang__)
  return __builtin_ia32_permvarsf512(table, (i32x16)at);
#elif defined(__AVX2__) && (defined(__clang__) || LANE_PARTS)
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
#elif LANE_PARTS
  return of_16_lanes(table, (i32x16)at);
#else
  return __builtin_shuffle(table, (i32x16)at);
#endif
}
// 2^(k/16) for n = k/16 + an integer, given as n + 1.5 * 2^19.
INLINE float root_of_2_f32(float turned) {
  static const float root[16] = {
      1.0f, 1.044273782f, 1.090507733f, 1.138788635f,
      1.189207115f, 1.241857812f, 1.296839555f, 1.354255547f,
      1.414213562f, 1.476826146f, 1.542210825f, 1.610490332f,
      1.681792831f, 1.75625216f, 1.834008086f, 1.915206561f};
  return root[bits_u32(turned) & 15u];
}
LANES_16 f32x16 root_of_2_f32x16(f32x16 turned) {
  const f32x16 root = {
      1.0f, 1.044273782f, 1.090507733f, 1.138788635f,
      1.189207115f, 1.241857812f, 1.296839555f, 1.354255547f,
      1.414213562f, 1.476826146f, 1.542210825f, 1.610490332f,
      1.681792831f, 1.75625216f, 1.834008086f, 1.915206561f};
  return of_16_f32x16(root, turned);
}
// The rounding error of that value.
INLINE float root_rest_of_2_f32(float turned) {
  static const float rest[16] = {
      0.0f, 4.833470144e-08f, -1.307754019e-08f, 5.386222144e-08f,
      3.797635388e-08f, 4.496838151e-08f, -4.018999375e-08f, -1.012334897e-08f,
      2.420323421e-08f, -4.500898702e-08f, 8.070904691e-09f, 9.836217199e-09f,
      -2.475532726e-08f, -9.235770341e-09f, -1.123927814e-08f, 9.845328446e-09f};
  return rest[bits_u32(turned) & 15u];
}
LANES_16 f32x16 root_rest_of_2_f32x16(f32x16 turned) {
  const f32x16 rest = {
      0.0f, 4.833470144e-08f, -1.307754019e-08f, 5.386222144e-08f,
      3.797635388e-08f, 4.496838151e-08f, -4.018999375e-08f, -1.012334897e-08f,
      2.420323421e-08f, -4.500898702e-08f, 8.070904691e-09f, 9.836217199e-09f,
      -2.475532726e-08f, -9.235770341e-09f, -1.123927814e-08f, 9.845328446e-09f};
  return of_16_f32x16(rest, turned);
}
// x 2^m, rounded once, for x in [1/2, 2) and the integer m <= n nearest to n, from -152 to 130.
INLINE float times_power_of_2_f32(float x, float turned) {
  int32_t m = ((int32_t)bits_u32(turned) - 0x49400000) >> 4, half = m >> 1;
  return x * bits_f32((uint32_t)(half + 127) << 23) * bits_f32((uint32_t)(m - half + 127) << 23);
}
LANES_16 f32x16 times_power_of_2_f32x16(f32x16 x, f32x16 turned) {
#ifdef __AVX512F__
  return __builtin_ia32_scalefps512_mask(x, turned - 786432.0f, x, 0xffff, 4);
#else
  i32x16 m = ((i32x16)turned - 0x49400000) >> 4, half = m >> 1;
  return x * (f32x16)((half + 127) << 23) * (f32x16)((m - half + 127) << 23);
#endif
}
LANES int are_all_x16(i32x16 good) {
#if __has_builtin(__builtin_reduce_and)
  return __builtin_reduce_and(good) != 0;
#elif LANE_PARTS
  return all_on(good);
#else
  int all = 1;
  for (int l = 0; l < lanes_x16; ++l) all &= good[l];
  return all;
#endif
}
INLINE double root_f64(double x) { return __builtin_sqrt(x); }
LANES f64x16 root_f64x16(f64x16 v) {
#if __has_builtin(__builtin_elementwise_sqrt) || LANE_PARTS
  return __builtin_elementwise_sqrt(v);
#else
  return EACH(f64x16, __builtin_sqrt, v);
#endif
}
// Replaces y by f(x) unless `good`.
#define REPAIR_f32(y, good, f, x) if (!(good)) y = f(x)
// Replaces each y[l] by f(x[l]) unless good[l].
#define REPAIR_f32x16(y, good, f, x)                                                     \
  ({ i32x16 each_good = (good);                                                          \
     if (!are_all_x16(each_good))                                                        \
       for (int l = 0; l < lanes_x16; ++l) if (!each_good[l]) y[l] = f(x[l]); })
#define REPAIR_2_f32(y, good, f, a, b) if (!(good)) y = f(a, b)
#define REPAIR_2_f32x16(y, good, f, a, b)                                                \
  ({ i32x16 each_good = (good);                                                          \
     if (!are_all_x16(each_good))                                                        \
       for (int l = 0; l < lanes_x16; ++l) if (!each_good[l]) y[l] = f(a[l], b[l]); })
