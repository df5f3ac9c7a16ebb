// Conversions of halves and elementary functions, written once for one element and for lanes: for
// 16 lanes (c_prelude.cpp) the types float, int32_t, ... are read as f32x16, i32x16, ..., and the
// suffix _f32 as _f32x16. So there is no branch and no ?:, comparisons give a truth value (1 for
// one element, -1 in a lane) that only choose_ and the bitwise operators take, and a constant that
// is an argument is written all_f32(c).
//
// Largest errors over all 2^32 inputs (bench/ulp.cpp), in units in the last place of the result:
//
//   exp      ULP_EXP   Cody-Waite reduction to |r| <= ln2/2, polynomial of degree 6
//   log      ULP_LOG   mantissa in [sqrt(1/2), sqrt(2)), polynomial of degree 9 (coefficients of
//                      exp and log are those of Moshier's Cephes)
//   tanh     ULP_TANH  an odd polynomial for |x| < 5/8, else 1 - 2 / (exp(2|x|) + 1)
//   erf      ULP_ERF   an odd polynomial for |x| < 59/64, else 1 - exp(polynomial in |x|)
//   sigmoid  ULP_SIG   1 / (1 + exp(-x))
// clang-format off

INLINE float load_bf16(uint16_t h) { return bits_f32(widen_u16(h) << 16); }
INLINE uint16_t store_bf16(float f) {
  uint32_t u = bits_u32(f);
  uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
  return narrow_u16(choose_u32(f != f, all_u32(0x7fc0u), rounded));
}
INLINE float load_f16(uint16_t h) {
  uint32_t bits = widen_u16(h), sign = (bits & 0x8000u) << 16, rest = bits & 0x7fffu;
  uint32_t normal = (rest << 13) + 0x38000000u;
  uint32_t small = bits_u32(to_f32((int32_t)rest) * 5.9604644775390625e-8f);
  uint32_t special = (rest << 13) | 0x7f800000u;
  uint32_t tiny_or_normal = choose_u32(rest < 0x400u, small, normal);
  return bits_f32(choose_u32(rest >= 0x7c00u, special, tiny_or_normal) | sign);
}
INLINE uint16_t store_f16(float f) {
  uint32_t u = bits_u32(f), sign = (u >> 16) & 0x8000u, rest = u & 0x7fffffffu;
  uint32_t normal = (rest - 0x38000000u + 0xfffu + ((rest >> 13) & 1u)) >> 13;
  uint32_t small = bits_u32(bits_f32(rest) + 0.5f) - 0x3f000000u;
  uint32_t finite = choose_u32(rest < 0x38800000u, small, normal);
  uint32_t number = choose_u32(rest >= 0x477ff000u, all_u32(0x7c00u), finite);
  return narrow_u16(choose_u32(rest > 0x7f800000u, all_u32(0x7e00u), number) | sign);
}
INLINE float round_bf16(float f) { return load_bf16(store_bf16(f)); }
INLINE float round_f16(float f) { return load_f16(store_f16(f)); }

// The nearest integer, for |x| < 2^22.
INLINE float nearest_f32(float x) { return (x + 12582912.0f) - 12582912.0f; }

INLINE float exp_f32(float x) {
  float up = choose_f32(x > -104.0f, x, all_f32(-104.0f));  // -104 for NaN
  float c = choose_f32(up < 89.0f, up, all_f32(89.0f));
  float n = nearest_f32(c * 1.44269504088896341f);
  float r = c - n * 0.693359375f;
  r = r - n * -2.12194440e-4f;
  float p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = (p * r) * r + r + 1.0f;
  int32_t i = to_i32(n), half = i >> 1;
  p = p * bits_f32((uint32_t)(half + 127) << 23) * bits_f32((uint32_t)(i - half + 127) << 23);
  float finite = choose_f32(x > 88.7228394f, all_f32(__builtin_inff()), p);
  return choose_f32(x != x, x, finite);
}
INLINE float log_f32(float x) {
  uint32_t u = bits_u32(choose_f32(x < 1.17549435e-38f, x * 8388608.0f, x));
  float m = bits_f32((u & 0x007fffffu) | 0x3f000000u);
  float n = to_f32((int32_t)(u >> 23) - 126);
  n = choose_f32(x < 1.17549435e-38f, n - 23.0f, n);
  n = choose_f32(m < 0.707106781186547524f, n - 1.0f, n);
  float t = choose_f32(m < 0.707106781186547524f, m + m, m) - 1.0f, z = t * t;
  float p = t * 7.0376836292e-2f - 1.1514610310e-1f;
  p = p * t + 1.1676998740e-1f;
  p = p * t - 1.2420140846e-1f;
  p = p * t + 1.4249322787e-1f;
  p = p * t - 1.6668057665e-1f;
  p = p * t + 2.0000714765e-1f;
  p = p * t - 2.4999993993e-1f;
  p = p * t + 3.3333331174e-1f;
  float y = p * t * z;
  y = y + n * -2.12194440e-4f;
  y = y - z * 0.5f;
  float r = (t + y) + n * 0.693359375f;
  r = choose_f32(x == __builtin_inff(), x, r);
  r = choose_f32(x > 0.0f, r, all_f32(__builtin_nanf("")));
  return choose_f32(x == 0.0f, all_f32(-__builtin_inff()), r);
}
INLINE float tanh_f32(float x) {
  float up = choose_f32(x < -10.0f, all_f32(-10.0f), x);
  float c = choose_f32(x > 10.0f, all_f32(10.0f), up), z = c * c;
  float e = exp_f32(choose_f32(c < 0.0f, -c, c) * 2.0f);
  float large = 1.0f - 2.0f / (e + 1.0f);
  float p = z * -5.70498872745e-3f + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  float small = p * z * c + c;
  float magnitude = choose_f32(c < 0.0f, -large, large);
  float finite = choose_f32(z < 0.390625f, small, magnitude);
  return choose_f32(x != x, x, finite);
}
INLINE float erf_f32(float x) {
  float a = choose_f32(x < 0.0f, -x, x), z = x * x;
  float c = choose_f32(a > 4.0f, all_f32(4.0f), a);
  float p = c * -1.72853470e-5f + 3.83197126e-4f;
  p = p * c - 3.88396438e-3f;
  p = p * c + 2.42546219e-2f;
  p = p * c - 1.06777877e-1f;
  p = p * c - 6.34846687e-1f;
  p = p * c - 1.28717512e-1f;
  p = p * c - c;
  float large = 1.0f - exp_f32(p);
  float q = z * -5.96761703e-4f + 4.99119423e-3f;
  q = q * z - 2.67681349e-2f;
  q = q * z + 1.12819925e-1f;
  q = q * z - 3.76125336e-1f;
  q = q * z + 1.28379166e-1f;
  float small = q * x + x;
  float magnitude = choose_f32(x < 0.0f, -large, large);
  float finite = choose_f32(a < 0.921875f, small, magnitude);
  return choose_f32(x != x, x, finite);
}
INLINE float sigmoid_f32(float x) { return 1.0f / (1.0f + exp_f32(-x)); }

#define MIN_MAX(T, S)                                                                     \
  INLINE T min_##S(T a, T b) { return choose_##S(b != b, b, choose_##S(b < a, b, a)); }   \
  INLINE T max_##S(T a, T b) { return choose_##S(b != b, b, choose_##S(b > a, b, a)); }   \
  INLINE T sign_##S(T a) {                                                                \
    return choose_##S(a > 0, all_##S(1), choose_##S(a < 0, all_##S(-1), all_##S(0))); }
MIN_MAX(float, f32)
MIN_MAX(double, f64)
MIN_MAX(int64_t, i64)
MIN_MAX(int32_t, i32)
