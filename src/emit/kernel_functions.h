// What kernels call: conversions, elementary functions, integer division, Philox. Plain C of the
// fixed-width types, for the emitted text (c_prelude.cpp) and for bytecode.cpp, so that both give
// the same bits.
//
// Elementary functions in f32 are branch-free, so that loops over them vectorise; their errors
// against float64 are checked in test/emit. exp: Cody-Waite reduction to |r| <= ln2/2, degree-6
// polynomial. log: mantissa in [sqrt(1/2), sqrt(2)), polynomial of degree 9 (coefficients of exp
// and log are those of Moshier's Cephes). tanh: an odd polynomial for |x| < 5/8, else
// 1 - 2 / (exp(2|x|) + 1); it is 1 from 10 on. erf: an odd polynomial for |x| < 59/64, else
// 1 - exp(polynomial in |x|).
// clang-format off

static inline float bits_f32(uint32_t u) { float f; __builtin_memcpy(&f, &u, 4); return f; }
static inline uint32_t f32_bits(float f) { uint32_t u; __builtin_memcpy(&u, &f, 4); return u; }

static inline float load_bf16(uint16_t h) { return bits_f32((uint32_t)h << 16); }
static inline uint16_t store_bf16(float f) {
  uint32_t u = f32_bits(f);
  uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
  return (uint16_t)(f != f ? 0x7fc0u : rounded);
}
static inline float load_f16(uint16_t h) {
  uint32_t sign = (uint32_t)(h & 0x8000u) << 16, rest = h & 0x7fffu;
  float normal = bits_f32((rest << 13) + 0x38000000u);
  float small = (float)rest * 5.9604644775390625e-8f;
  float special = bits_f32(0x7f800000u | (rest << 13));
  float magnitude = rest >= 0x7c00u ? special : rest < 0x400u ? small : normal;
  return bits_f32(f32_bits(magnitude) | sign);
}
static inline uint16_t store_f16(float f) {
  uint32_t u = f32_bits(f), sign = (u >> 16) & 0x8000u, rest = u & 0x7fffffffu;
  uint32_t normal = (rest - 0x38000000u + 0xfffu + ((rest >> 13) & 1u)) >> 13;
  uint32_t small = f32_bits(bits_f32(rest) + 0.5f) - 0x3f000000u;
  uint32_t h = rest > 0x7f800000u ? 0x7e00u : rest >= 0x477ff000u ? 0x7c00u
             : rest < 0x38800000u ? small : normal;
  return (uint16_t)(sign | h);
}
static inline float round_bf16(float f) { return load_bf16(store_bf16(f)); }
static inline float round_f16(float f) { return load_f16(store_f16(f)); }

static inline float exp_f32(float x) {
  float up = x > -104.0f ? x : -104.0f, c = up < 89.0f ? up : 89.0f;  // -104 for NaN
  float n = __builtin_rintf(c * 1.44269504088896341f);
  float r = c - n * 0.693359375f;
  r = r - n * -2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = (p * r) * r + r + 1.0f;
  int32_t i = (int32_t)n, half = i >> 1;
  p = p * bits_f32((uint32_t)(half + 127) << 23) * bits_f32((uint32_t)(i - half + 127) << 23);
  return x != x ? x : x > 88.7228394f ? __builtin_inff() : p;
}
static inline float log_f32(float x) {
  int tiny = x < 1.17549435e-38f;
  uint32_t u = f32_bits(tiny ? x * 8388608.0f : x);
  int32_t e = (int32_t)(u >> 23) - 126 - (tiny ? 23 : 0);
  float m = bits_f32((u & 0x007fffffu) | 0x3f000000u);
  int low = m < 0.707106781186547524f;
  e = low ? e - 1 : e;
  float t = low ? m + m - 1.0f : m - 1.0f, z = t * t, n = (float)e;
  float p = 7.0376836292e-2f;
  p = p * t - 1.1514610310e-1f;
  p = p * t + 1.1676998740e-1f;
  p = p * t - 1.2420140846e-1f;
  p = p * t + 1.4249322787e-1f;
  p = p * t - 1.6668057665e-1f;
  p = p * t + 2.0000714765e-1f;
  p = p * t - 2.4999993993e-1f;
  p = p * t + 3.3333331174e-1f;
  float y = p * t * z;
  y = y + n * -2.12194440e-4f;
  y = y - 0.5f * z;
  float r = t + y;
  r = r + n * 0.693359375f;
  r = x == __builtin_inff() ? x : r;
  return x == 0.0f ? -__builtin_inff() : x < 0.0f || x != x ? __builtin_nanf("") : r;
}
static inline float tanh_f32(float x) {
  float c = x < -10.0f ? -10.0f : x > 10.0f ? 10.0f : x, z = c * c;
  float e = exp_f32(2.0f * (c < 0.0f ? -c : c));
  float large = 1.0f - 2.0f / (e + 1.0f);
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  float small = p * z * c + c;
  float magnitude = c < 0.0f ? -large : large;
  return x != x ? x : z < 0.390625f ? small : magnitude;
}
static inline float erf_f32(float x) {
  float a = x < 0.0f ? -x : x, c = a > 4.0f ? 4.0f : a, z = x * x;
  float p = -1.72853470e-5f;
  p = p * c + 3.83197126e-4f;
  p = p * c - 3.88396438e-3f;
  p = p * c + 2.42546219e-2f;
  p = p * c - 1.06777877e-1f;
  p = p * c - 6.34846687e-1f;
  p = p * c - 1.28717512e-1f;
  p = p * c - c;
  float large = 1.0f - exp_f32(p);
  float q = -5.96761703e-4f;
  q = q * z + 4.99119423e-3f;
  q = q * z - 2.67681349e-2f;
  q = q * z + 1.12819925e-1f;
  q = q * z - 3.76125336e-1f;
  q = q * z + 1.28379166e-1f;
  float small = q * x + x;
  return x != x ? x : a < 0.921875f ? small : x < 0.0f ? -large : large;
}
static inline float sigmoid_f32(float x) { return 1.0f / (1.0f + exp_f32(-x)); }
static inline double sigmoid_f64(double x) { return 1.0 / (1.0 + exp(-x)); }

#define MIN_MAX(T, S)                                                              \
  static inline T min_##S(T a, T b) { return ((b < a) | (b != b)) ? b : a; }       \
  static inline T max_##S(T a, T b) { return ((b > a) | (b != b)) ? b : a; }       \
  static inline T sign_##S(T a) { return (T)((a > 0) - (a < 0)); }
MIN_MAX(float, f32)
MIN_MAX(double, f64)
MIN_MAX(int64_t, i64)
MIN_MAX(int32_t, i32)
#define DIVISIONS(T, U, S)                                                         \
  static inline T truncdiv_##S(T a, T b) {                                         \
    return b == 0 ? 0 : b == -1 ? (T)(0 - (U)a) : a / b; }                         \
  static inline T truncmod_##S(T a, T b) { return b == 0 || b == -1 ? 0 : a % b; } \
  static inline T floordiv_##S(T a, T b) {                                         \
    T q = truncdiv_##S(a, b), r = truncmod_##S(a, b);                              \
    return r != 0 && (r < 0) != (b < 0) ? q - 1 : q; }                             \
  static inline T floormod_##S(T a, T b) {                                         \
    T r = truncmod_##S(a, b); return r != 0 && (r < 0) != (b < 0) ? r + b : r; }   \
  static inline T pow_##S(T a, T n) {                                              \
    U r = 1, x = (U)a;                                                             \
    if (n < 0) return a == 1 ? 1 : a == -1 ? (n & 1 ? -1 : 1) : 0;                 \
    for (; n; n >>= 1, x *= x) if (n & 1) r *= x;                                  \
    return (T)r; }                                                                 \
  static inline T shl_##S(T a, T n) {                                              \
    return n < 0 || n >= (T)(8 * sizeof(T)) ? 0 : (T)((U)a << n); }                \
  static inline T shr_##S(T a, T n) {                                              \
    return a >> (n < 0 || n >= (T)(8 * sizeof(T)) ? (T)(8 * sizeof(T) - 1) : n); }
DIVISIONS(int64_t, uint64_t, i64)
DIVISIONS(int32_t, uint32_t, i32)
#define FLOAT_TO_INT(F, S)                                                            \
  static inline int64_t S##_to_i64(F x) {                                             \
    return x >= (F)-9223372036854775808.0 && x < (F)9223372036854775808.0             \
               ? (int64_t)x : (-9223372036854775807L - 1); }                          \
  static inline int32_t S##_to_i32(F x) {                                             \
    return x > (F)-2147483904.0 && x < (F)2147483648.0 && (double)x > -2147483649.0   \
               ? (int32_t)x : (-2147483647 - 1); }
FLOAT_TO_INT(float, f32)
FLOAT_TO_INT(double, f64)

// Philox 4x32-10: word `index mod 4` of the block at counter (index/4, stream, step), key = seed.
static inline int64_t philox(int64_t seed, int64_t step, int64_t stream, int64_t index) {
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
