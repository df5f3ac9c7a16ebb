// What kernels call on one element: integer division, conversions, Philox, and the primitives that
// elementary_functions.h is written in. Plain C of the fixed-width types, for the emitted text
// (c_prelude.cpp) and for bytecode.cpp, so that both give the same bits.
// clang-format off

#define INLINE static inline __attribute__((always_inline))

INLINE float bits_f32(uint32_t u) { float f; __builtin_memcpy(&f, &u, 4); return f; }
INLINE uint32_t bits_u32(float f) { uint32_t u; __builtin_memcpy(&u, &f, 4); return u; }
INLINE float choose_f32(int c, float a, float b) { return c ? a : b; }
INLINE double choose_f64(int c, double a, double b) { return c ? a : b; }
INLINE int32_t choose_i32(int c, int32_t a, int32_t b) { return c ? a : b; }
INLINE int64_t choose_i64(int c, int64_t a, int64_t b) { return c ? a : b; }
INLINE uint32_t choose_u32(int c, uint32_t a, uint32_t b) { return c ? a : b; }
// Returns b if one of them is NaN.
INLINE float smaller_f32(float a, float b) { return a < b ? a : b; }
INLINE float larger_f32(float a, float b) { return a > b ? a : b; }
INLINE double smaller_f64(double a, double b) { return a < b ? a : b; }
INLINE double larger_f64(double a, double b) { return a > b ? a : b; }
INLINE int32_t smaller_i32(int32_t a, int32_t b) { return a < b ? a : b; }
INLINE int32_t larger_i32(int32_t a, int32_t b) { return a > b ? a : b; }
INLINE int64_t smaller_i64(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE int64_t larger_i64(int64_t a, int64_t b) { return a > b ? a : b; }
INLINE float all_f32(float x) { return x; }
INLINE double all_f64(double x) { return x; }
INLINE int32_t all_i32(int32_t x) { return x; }
INLINE int64_t all_i64(int64_t x) { return x; }
INLINE uint32_t all_u32(uint32_t x) { return x; }
INLINE uint32_t widen_u16(uint16_t h) { return h; }
INLINE uint16_t narrow_u16(uint32_t u) { return (uint16_t)u; }
INLINE float to_f32(int32_t i) { return (float)i; }
INLINE double to_f64(float x) { return x; }
INLINE float narrow_f32(double x) { return (float)x; }
INLINE float fma_f32(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
INLINE double fma_f64(double a, double b, double c) { return __builtin_fma(a, b, c); }
INLINE int32_t low_i32(double x) {  // the lowest 32 bits
  uint64_t u; __builtin_memcpy(&u, &x, 8); return (int32_t)(uint32_t)u; }
// 2^(k/16) for n = k/16 + an integer, given as n + 1.5 * 2^19.
INLINE float root_of_2_f32(float turned) {
  static const float root[16] = {
      1.0f, 1.044273782f, 1.090507733f, 1.138788635f,
      1.189207115f, 1.241857812f, 1.296839555f, 1.354255547f,
      1.414213562f, 1.476826146f, 1.542210825f, 1.610490332f,
      1.681792831f, 1.75625216f, 1.834008086f, 1.915206561f};
  return root[bits_u32(turned) & 15u];
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
// x 2^m, rounded once, for x in [1/2, 2) and the integer m <= n nearest to n, from -152 to 130.
INLINE float times_power_of_2_f32(float x, float turned) {
  int32_t m = ((int32_t)bits_u32(turned) - 0x49400000) >> 4, half = m >> 1;
  return x * bits_f32((uint32_t)(half + 127) << 23) * bits_f32((uint32_t)(m - half + 127) << 23);
}
static float sin_huge(float x) { return (float)sin((double)x); }
static float cos_huge(float x) { return (float)cos((double)x); }
// Replaces y by f(x) unless `good`.
#define REPAIR_f32(y, good, f, x) if (!(good)) y = f(x)

INLINE double sigmoid_f64(double x) { return 1.0 / (1.0 + exp(-x)); }

#define DIVISIONS(T, U, S)                                                                \
  INLINE T truncdiv_##S(T a, T b) {                                                       \
    return b == 0 ? 0 : b == -1 ? (T)(0 - (U)a) : a / b; }                                \
  INLINE T truncmod_##S(T a, T b) { return b == 0 || b == -1 ? 0 : a % b; }               \
  INLINE T floordiv_##S(T a, T b) {                                                       \
    T q = truncdiv_##S(a, b), r = truncmod_##S(a, b);                                     \
    return r != 0 && (r < 0) != (b < 0) ? q - 1 : q; }                                    \
  INLINE T floormod_##S(T a, T b) {                                                       \
    T r = truncmod_##S(a, b); return r != 0 && (r < 0) != (b < 0) ? r + b : r; }          \
  INLINE T pow_##S(T a, T n) {                                                            \
    U r = 1, x = (U)a;                                                                    \
    if (n < 0) return a == 1 ? 1 : a == -1 ? (n & 1 ? -1 : 1) : 0;                        \
    for (; n; n >>= 1, x *= x) if (n & 1) r *= x;                                         \
    return (T)r; }                                                                        \
  INLINE T shl_##S(T a, T n) {                                                            \
    return n < 0 || n >= (T)(8 * sizeof(T)) ? 0 : (T)((U)a << n); }                       \
  INLINE T shr_##S(T a, T n) {                                                            \
    return a >> (n < 0 || n >= (T)(8 * sizeof(T)) ? (T)(8 * sizeof(T) - 1) : n); }
DIVISIONS(int64_t, uint64_t, i64)
DIVISIONS(int32_t, uint32_t, i32)
#define FLOAT_TO_INT(F, S)                                                                \
  INLINE int64_t S##_to_i64(F x) {                                                        \
    return x >= (F)-9223372036854775808.0 && x < (F)9223372036854775808.0                 \
               ? (int64_t)x : (-9223372036854775807L - 1); }                              \
  INLINE int32_t S##_to_i32(F x) {                                                        \
    return x > (F)-2147483904.0 && x < (F)2147483648.0 && (double)x > -2147483649.0       \
               ? (int32_t)x : (-2147483647 - 1); }
FLOAT_TO_INT(float, f32)
FLOAT_TO_INT(double, f64)

// Philox 4x32-10: word `index mod 4` of the block at counter (index/4, stream, step), key = seed.
INLINE int64_t philox(int64_t seed, int64_t step, int64_t stream, int64_t index) {
  uint64_t block = (uint64_t)index >> 2;
  uint32_t c0 = (uint32_t)block, c1 = (uint32_t)(block >> 32);
  uint32_t c2 = (uint32_t)stream, c3 = (uint32_t)step;
  uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)((uint64_t)seed >> 32);
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
    uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c0 = n0; c1 = (uint32_t)p1; c2 = n2; c3 = (uint32_t)p0;
    k0 += 0x9E3779B9u; k1 += 0xBB67AE85u;
  }
  uint32_t low = index & 1 ? c1 : c0, high = index & 1 ? c3 : c2;
  return (int64_t)(index & 2 ? high : low);
}
