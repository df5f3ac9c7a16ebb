// Conversions of halves and elementary functions, written once for one element and for lanes in the
// primitives of primitives.h. For 16 lanes the build (cmake/write_prelude.cmake) replaces the types
// float, int32_t, ... by f32x16, i32x16, ..., and the suffix _f32 by _f32x16. So there is no branch
// and no ?:, comparisons give a truth value (1 for one element, -1 in a lane) that only choose_ and
// the bitwise operators accept, and a constant that is an argument is written all_f32(c).
//
// Each fused multiply-add is explicit: it rounds once on every processor.
//
// Largest errors in units in the last place of the result (bench/ulp.cpp), over all 2^32 inputs, or
// over every 21st to 401st where marked ~:
//
//   exp      1.00   2^(k/16) exp(r): a table of 16, Cody-Waite reduction to |r| <= ln2/32,
//                   polynomial of degree 3
//   exp2     ~0.99  the same of r ln2
//   expm1    ~1.42  2^n (exp(r) - 1) + (2^n - 1)
//   log      0.85   mantissa in [sqrt(1/2), sqrt(2)), polynomial of degree 9 (coefficients of
//                   exp and log are those of Moshier's Cephes, as those of sin and cos)
//   log2     1.44   the same by log2(e)
//   log1p    ~0.81  log(u) + (x - (u - 1)) / u where u = 1 + x is rounded
//   tanh     ~1.37  an odd polynomial for |x| < 5/8, else 1 - 2 / (exp(2|x|) + 1)
//   erf      ~1.04  an odd polynomial for |x| < 59/64, else 1 - exp(polynomial in |x|)
//   sigmoid  ~1.51  e / (1 + e) as e - e q, or as 1 - q, where e = exp(-|x|), q = e / (1 + e)
//   sin      1.59   quarter turns removed in f64 (|x| < 2^30; else libm in f64), two polynomials
//   cos      ~1.54  the same
//
// In f64, by polynomials that err by less than 2^-30, and rounded once at the end:
//
//   tan      ~0.55  sine by cosine of what quarter turns leave (|x| < 2^30; else libm in f64)
//   atan     ~0.50  of the quotient, or of what it is beyond an eighth of a turn
//   atan2             the same
//   asin     ~0.50  a polynomial up to 1/2, else of sqrt((1 - |x|) / 2)
//   acos     ~0.50  the same
//   sinh     ~0.50  a polynomial up to 1, else (exp(|x|) - exp(-|x|)) / 2
//   cosh     ~0.50  (exp(|x|) + exp(-|x|)) / 2
//   asinh    ~0.50  log1p(|x| + x^2 / (1 + sqrt(1 + x^2)))
//   acosh    ~0.50  log1p(x - 1 + sqrt((x - 1) (x + 1)))
//   atanh    ~0.50  log1p(2 |x| / (1 - |x|)) / 2
//   log10    ~0.50  log(x) log10(e)
//   pow      0.50   exp(y log|x|), in f64
//   fmod     0      x - n y, which is exact (quotients up to 2^51; else libm)
//
// Of f64, beside long doubles (test/emit/c_prelude_test.cpp): exp and log to 1 ulp, log1p to 1.6,
// sigmoid to 2; a polynomial of degree 13, and one in t / (2 + t).
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

INLINE float abs_f32(float x) { return bits_f32(bits_u32(x) & 0x7fffffffu); }
// size, which isn't negative, with the sign of x.
INLINE float signed_f32(float size, float x) {
  return bits_f32(bits_u32(size) | (bits_u32(x) & 0x80000000u));
}
INLINE float between_f32(float x, float low, float high) {  // NaN stays
  return smaller_f32(high, larger_f32(low, x));
}

// n from t = n + 1.5 * 2^23, whose lowest bits hold n.
INLINE int32_t whole_i32(float turned) { return (int32_t)bits_u32(turned) - 0x4b400000; }
INLINE float power_of_2_f32(int32_t n) { return bits_f32((uint32_t)(n + 127) << 23); }

// exp(r) - 1 for |r| <= ln2 / 2.
INLINE float grown_f32(float r) {
  float p = fma_f32(all_f32(1.9875691500e-4f), r, all_f32(1.3981999507e-3f));
  p = fma_f32(p, r, all_f32(8.3334519073e-3f));
  p = fma_f32(p, r, all_f32(4.1665795894e-2f));
  p = fma_f32(p, r, all_f32(1.6666665459e-1f));
  p = fma_f32(p, r, all_f32(5.0000001201e-1f));
  return fma_f32(p, r * r, r);
}
// x - n ln2 for the n nearest to x log2(e).
INLINE float rest_of_ln2_f32(float x, float n) {
  return fma_f32(n, all_f32(2.12194440e-4f), fma_f32(n, all_f32(-0.693359375f), x));
}
INLINE float turns_of_ln2_f32(float x) {
  return fma_f32(x, all_f32(1.44269504088896341f), all_f32(12582912.0f));
}
// n + 1.5 * 2^19 for the n, in sixteenths, nearest to x log2(e).
INLINE float sixteenths_of_ln2_f32(float x) {
  return fma_f32(x, all_f32(1.44269504088896341f), all_f32(786432.0f));
}
// (exp(r) - 1) / r for |r| <= ln2 / 32.
INLINE float slope_f32(float r) {
  float p = fma_f32(r, all_f32(1.6666667163e-1f), all_f32(5.0001621246e-1f));
  return fma_f32(p, r, all_f32(1.0f));
}
// 2^n exp(r), given n + 1.5 * 2^19.
INLINE float power_f32(float turned, float r) {
  float root = root_of_2_f32(turned);
  return times_power_of_2_f32(fma_f32(root * r, slope_f32(r), root), turned);
}
INLINE float exp_f32(float x) {
  float c = between_f32(x, all_f32(-104.0f), all_f32(89.0f)), t = sixteenths_of_ln2_f32(c);
  return power_f32(t, rest_of_ln2_f32(c, t - 786432.0f));
}
// exp(x) for x <= 0, rounded slightly more than once: with exp_f32 sigmoid would exceed 2 ulp.
INLINE float exp_below_0_f32(float x) {
  float c = larger_f32(all_f32(-104.0f), x), t = sixteenths_of_ln2_f32(c);
  float r = rest_of_ln2_f32(c, t - 786432.0f), root = root_of_2_f32(t);
  float above = fma_f32(root * r, slope_f32(r), root_rest_of_2_f32(t));
  return times_power_of_2_f32(root + above, t);
}
INLINE float exp2_f32(float x) {
  float c = between_f32(x, all_f32(-151.0f), all_f32(129.0f)), t = c + 786432.0f;
  return power_f32(t, (c - (t - 786432.0f)) * 0.693147180559945309f);
}
INLINE float expm1_f32(float x) {
  float c = between_f32(x, all_f32(-18.0f), all_f32(89.0f));
  float t = turns_of_ln2_f32(c), r = rest_of_ln2_f32(c, t - 12582912.0f);
  float half = power_of_2_f32(whole_i32(t) - 1);  // 2^n can be too large
  float y = fma_f32(grown_f32(r), half, half - 0.5f) * 2.0f;
  return choose_f32(x == 0.0f, x, y);
}

// log(1 + t) - t for 1 + t in [sqrt(1/2), sqrt(2)).
INLINE float bent_f32(float t) {
  float p = fma_f32(all_f32(7.0376836292e-2f), t, all_f32(-1.1514610310e-1f));
  p = fma_f32(p, t, all_f32(1.1676998740e-1f));
  p = fma_f32(p, t, all_f32(-1.2420140846e-1f));
  p = fma_f32(p, t, all_f32(1.4249322787e-1f));
  p = fma_f32(p, t, all_f32(-1.6668057665e-1f));
  p = fma_f32(p, t, all_f32(2.0000714765e-1f));
  p = fma_f32(p, t, all_f32(-2.4999993993e-1f));
  p = fma_f32(p, t, all_f32(3.3333331174e-1f));
  float z = t * t;
  return fma_f32(p * t, z, z * -0.5f);
}
// x = 2^n (1 + t), for x > 0.
INLINE uint32_t above_root_u32(float x) {  // the bits of x from sqrt(1/2) on
  return bits_u32(choose_f32(x < 1.17549435e-38f, x * 8388608.0f, x)) - 0x3f3504f3u;
}
INLINE float exponent_f32(float x) {
  float n = to_f32((int32_t)above_root_u32(x) >> 23);
  return choose_f32(x < 1.17549435e-38f, n - 23.0f, n);
}
INLINE float fraction_f32(float x) {
  return bits_f32((above_root_u32(x) & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
}
INLINE float log_of_f32(float x, float finite) {
  float above = choose_f32(x < __builtin_inff(), finite, x);  // inf and NaN stay
  float real = choose_f32(x < 0.0f, all_f32(__builtin_nanf("")), above);
  return choose_f32(x == 0.0f, all_f32(-__builtin_inff()), real);
}
INLINE float log_f32(float x) {
  float n = exponent_f32(x), t = fraction_f32(x);
  float y = t + fma_f32(n, all_f32(-2.12194440e-4f), bent_f32(t));
  return log_of_f32(x, fma_f32(n, all_f32(0.693359375f), y));
}
INLINE float log2_f32(float x) {
  float t = fraction_f32(x), b = bent_f32(t);
  // log2(e) is 1 + 0.4427: (t + b) log2(e)
  float y = fma_f32(b, all_f32(0.44269504088896341f), t * 0.44269504088896341f);
  return log_of_f32(x, exponent_f32(x) + ((y + b) + t));
}
INLINE float log1p_f32(float x) {
  float u = 1.0f + x, n = exponent_f32(u), t = fraction_f32(u);
  float lost = (x - (u - 1.0f)) / u;
  float y = t + (fma_f32(n, all_f32(-2.12194440e-4f), bent_f32(t)) + lost);
  float sum = log_of_f32(u, fma_f32(n, all_f32(0.693359375f), y));
  return choose_f32(u == 1.0f, x, sum);
}

INLINE float tanh_f32(float x) {
  float c = between_f32(x, all_f32(-10.0f), all_f32(10.0f)), z = c * c;
  float a = abs_f32(c), large = 1.0f - 2.0f / (exp_f32(a * 2.0f) + 1.0f);
  float p = fma_f32(z, all_f32(-5.70498872745e-3f), all_f32(2.06390887954e-2f));
  p = fma_f32(p, z, all_f32(-5.37397155531e-2f));
  p = fma_f32(p, z, all_f32(1.33314422036e-1f));
  p = fma_f32(p, z, all_f32(-3.33332819422e-1f));
  return signed_f32(choose_f32(z < 0.390625f, fma_f32(p * z, a, a), large), c);
}
INLINE float erf_f32(float x) {
  float a = abs_f32(x), z = x * x;
  float c = choose_f32(a > 4.0f, all_f32(4.0f), a);
  float p = fma_f32(c, all_f32(-1.72853470e-5f), all_f32(3.83197126e-4f));
  p = fma_f32(p, c, all_f32(-3.88396438e-3f));
  p = fma_f32(p, c, all_f32(2.42546219e-2f));
  p = fma_f32(p, c, all_f32(-1.06777877e-1f));
  p = fma_f32(p, c, all_f32(-6.34846687e-1f));
  p = fma_f32(p, c, all_f32(-1.28717512e-1f));
  float large = 1.0f - exp_f32(fma_f32(p, c, -c));
  float q = fma_f32(z, all_f32(-5.96761703e-4f), all_f32(4.99119423e-3f));
  q = fma_f32(q, z, all_f32(-2.67681349e-2f));
  q = fma_f32(q, z, all_f32(1.12819925e-1f));
  q = fma_f32(q, z, all_f32(-3.76125336e-1f));
  q = fma_f32(q, z, all_f32(1.28379166e-1f));
  return choose_f32(a < 0.921875f, fma_f32(q, x, x), signed_f32(large, x));
}
INLINE float sigmoid_f32(float x) {
  float e = exp_below_0_f32(-abs_f32(x)), q = e / (1.0f + e);
  float of = choose_f32(x < 0.0f, e, all_f32(1.0f));  // e / (1 + e), or 1 / (1 + e)
  return fma_f32(-of, q, of);
}

// n + 1.5 * 2^52 for the quarter turns n nearest to x, and the remainder of x.
INLINE double quarters_f64(double x) { return x * 0.63661977236758134308 + 6755399441055744.0; }
INLINE float rest_f32(double x, double quarters) {
  double n = quarters - 6755399441055744.0;
  double r = fma_f64(n, all_f64(-1.57079632679489655800), x);
  return narrow_f32(fma_f64(n, all_f64(-6.12323399573676603587e-17), r));
}
INLINE float sin_after_f32(int32_t quarters, float r) {
  float z = r * r;
  float s = fma_f32(z, all_f32(-1.9515295891e-4f), all_f32(8.3321608736e-3f));
  s = fma_f32(s, z, all_f32(-1.6666654611e-1f));
  s = fma_f32(s * z, r, r);
  float c = fma_f32(z, all_f32(2.443315711809948e-5f), all_f32(-1.388731625493765e-3f));
  c = fma_f32(c, z, all_f32(4.166664568298827e-2f));
  c = fma_f32(c * z, z, fma_f32(z, all_f32(-0.5f), all_f32(1.0f)));
  float y = choose_f32((quarters & 1) != 0, c, s);
  return bits_f32(bits_u32(y) ^ ((uint32_t)(quarters & 2) << 30));
}
INLINE float sin_f32(float x) {
  double quarters = quarters_f64(to_f64(x));
  float y = sin_after_f32(low_i32(quarters), rest_f32(to_f64(x), quarters));
  REPAIR_f32(y, abs_f32(x) < 1073741824.0f, sin_huge, x);
  return choose_f32(x == 0.0f, x, y);
}
INLINE float cos_f32(float x) {
  double quarters = quarters_f64(to_f64(x));
  float y = sin_after_f32(low_i32(quarters) + 1, rest_f32(to_f64(x), quarters));
  REPAIR_f32(y, abs_f32(x) < 1073741824.0f, cos_huge, x);
  return y;
}

// 2^n for -1022 <= n <= 1023.
INLINE double power_of_2_f64(int64_t n) { return bits_f64((uint64_t)(n + 1023) << 52); }
INLINE double exp_f64(double x) {
  double c = smaller_f64(all_f64(710.0), larger_f64(all_f64(-746.0), x));
  double turned = c * 1.44269504088896341 + 6755399441055744.0, n = turned - 6755399441055744.0;
  double r = fma_f64(n, all_f64(-6.93147180369123816e-1), c);
  r = fma_f64(n, all_f64(-1.90821492927058770e-10), r);
  double p = fma_f64(r, all_f64(1.6059043836821615e-10), all_f64(2.0876756987868099e-9));
  p = fma_f64(p, r, all_f64(2.5052108385441719e-8));
  p = fma_f64(p, r, all_f64(2.7557319223985891e-7));
  p = fma_f64(p, r, all_f64(2.7557319223985893e-6));
  p = fma_f64(p, r, all_f64(2.4801587301587302e-5));
  p = fma_f64(p, r, all_f64(1.9841269841269841e-4));
  p = fma_f64(p, r, all_f64(1.3888888888888889e-3));
  p = fma_f64(p, r, all_f64(8.3333333333333333e-3));
  p = fma_f64(p, r, all_f64(4.1666666666666667e-2));
  p = fma_f64(p, r, all_f64(1.6666666666666667e-1));
  p = fma_f64(p, r, all_f64(0.5));
  double y = 1.0 + fma_f64(p * r, r, r);
  int64_t whole = (int64_t)bits_u64(turned) - 0x4338000000000000, half = whole >> 1;
  return y * power_of_2_f64(half) * power_of_2_f64(whole - half);
}
// x = 2^n (1 + t) with 1 + t in [sqrt(1/2), sqrt(2)), for x > 0.
INLINE uint64_t above_root_u64(double x) {
  double normal = choose_f64(x < 2.2250738585072014e-308, x * 18014398509481984.0, x);
  return bits_u64(normal) - 0x3fe6a09e667f3bcd;
}
INLINE double log_f64(double x) {
  uint64_t above = above_root_u64(x);
  double n = whole_f64((int64_t)above >> 52);
  n = choose_f64(x < 2.2250738585072014e-308, n - 54.0, n);
  double t = bits_f64((above & 0x000fffffffffffff) + 0x3fe6a09e667f3bcd) - 1.0;
  double s = t / (t + 2.0), z = s * s, w = z * z, half = t * t * 0.5;
  double p = fma_f64(w, all_f64(1.531383769920937332e-1), all_f64(2.222219843214978396e-1));
  p = fma_f64(p, w, all_f64(3.999999999940941908e-1)) * w;
  double q = fma_f64(w, all_f64(1.479819860511658591e-1), all_f64(1.818357216161805012e-1));
  q = fma_f64(q, w, all_f64(2.857142874366239149e-1));
  q = fma_f64(q, w, all_f64(6.666666666666735130e-1)) * z;
  double rest = fma_f64(s, half + (p + q), n * 1.90821492927058770e-10);
  double y = n * 6.93147180369123816e-1 - ((half - rest) - t);
  y = choose_f64(x < __builtin_inf(), y, x);  // inf and NaN stay
  y = choose_f64(x < 0.0, all_f64(__builtin_nan("")), y);
  return choose_f64(x == 0.0, all_f64(-__builtin_inf()), y);
}
INLINE double log1p_f64(double x) {
  double u = x + 1.0, y = log_f64(u) + (x - (u - 1.0)) / u;
  y = choose_f64(u < __builtin_inf(), y, u);
  y = choose_f64(u == 0.0, all_f64(-__builtin_inf()), y);
  return choose_f64(u == 1.0, x, y);
}
INLINE double sigmoid_f64(double x) {
  double e = exp_f64(choose_f64(x < 0.0, x, -x));
  return choose_f64(x < 0.0, e, all_f64(1.0)) / (e + 1.0);
}

INLINE float tan_f32(float x) {
  double quarters = quarters_f64(to_f64(x)), n = quarters - 6755399441055744.0;
  double r = fma_f64(n, all_f64(-1.57079632679489655800), to_f64(x));
  r = fma_f64(n, all_f64(-6.12323399573676603587e-17), r);
  double z = r * r;
  double s = fma_f64(z, all_f64(2.7557319223985893e-6), all_f64(-1.9841269841269841e-4));
  s = fma_f64(s, z, all_f64(8.3333333333333333e-3));
  s = fma_f64(s, z, all_f64(-1.6666666666666667e-1));
  s = fma_f64(s * z, r, r);
  double c = fma_f64(z, all_f64(-2.7557319223985893e-7), all_f64(2.4801587301587302e-5));
  c = fma_f64(c, z, all_f64(-1.3888888888888889e-3));
  c = fma_f64(c, z, all_f64(4.1666666666666667e-2));
  c = fma_f64(c, z, all_f64(-0.5));
  c = fma_f64(c, z, all_f64(1.0));
  double odd = to_f64(to_f32(low_i32(quarters) & 1));
  float y = narrow_f32(choose_f64(odd == 1.0, -c, s) / choose_f64(odd == 1.0, s, c));
  REPAIR_f32(y, abs_f32(x) < 1073741824.0f, tan_huge, x);
  return choose_f32(x == 0.0f, x, y);
}

// atan(y / x) for 0 <= y <= x: beyond an eighth of a turn's tangent, what is beyond it.
INLINE double angle_f64(double y, double x) {
  double t = choose_f64(y > x * 0.41421356237309503, y - x, y) /
             choose_f64(y > x * 0.41421356237309503, y + x, x);
  double z = t * t;
  double p = fma_f64(z, all_f64(0.05054029699048436), all_f64(-0.086272217489417));
  p = fma_f64(p, z, all_f64(0.11071750473655462));
  p = fma_f64(p, z, all_f64(-0.14284175062555313));
  p = fma_f64(p, z, all_f64(0.1999997777795257));
  p = fma_f64(p, z, all_f64(-0.3333333328108589));
  double turned = choose_f64(y > x * 0.41421356237309503, all_f64(0.78539816339744831),
                             all_f64(0.0));
  return turned + fma_f64(p * z, t, t);
}
INLINE float atan_f32(float x) {
  double a = to_f64(abs_f32(x));
  double angle = angle_f64(smaller_f64(all_f64(1.0), a), larger_f64(all_f64(1.0), a));
  angle = choose_f64(a > 1.0, 1.57079632679489662 - angle, angle);
  return signed_f32(narrow_f32(angle), x);
}
INLINE float atan2_f32(float y, float x) {
  double a = to_f64(abs_f32(y)), b = to_f64(abs_f32(x));
  double low = smaller_f64(a, b), high = larger_f64(a, b);
  high = choose_f64(low == __builtin_inf(), all_f64(1.0), high);  // both are infinite
  low = choose_f64(low == __builtin_inf(), all_f64(1.0), low);
  high = choose_f64(high == 0.0, all_f64(1.0), high);
  double angle = angle_f64(low, high);
  angle = choose_f64(a > b, 1.57079632679489662 - angle, angle);
  double side = to_f64(signed_f32(all_f32(1.0f), x));
  angle = choose_f64(side < 0.0, 3.14159265358979324 - angle, angle);
  float size = choose_f32(x != x, x, narrow_f32(angle));
  return choose_f32(y != y, y, signed_f32(size, y));
}

// asin(a) for 0 <= a <= 1/2; beyond, asin(sqrt((1 - a) / 2)).
INLINE double arc_f64(double a) {
  double z = choose_f64(a > 0.5, (1.0 - a) * 0.5, a * a);
  double s = choose_f64(a > 0.5, root_f64(z), a);
  double p = fma_f64(z, all_f64(0.02942538382830337), all_f64(0.005339340221564822));
  p = fma_f64(p, z, all_f64(0.019341480902735294));
  p = fma_f64(p, z, all_f64(0.02212653003996034));
  p = fma_f64(p, z, all_f64(0.03039814258531502));
  p = fma_f64(p, z, all_f64(0.04464233775334536));
  p = fma_f64(p, z, all_f64(0.0750000063023227));
  p = fma_f64(p, z, all_f64(0.16666666665421281));
  return fma_f64(p * z, s, s);
}
INLINE float asin_f32(float x) {
  double a = to_f64(abs_f32(x)), arc = arc_f64(a);
  arc = choose_f64(a > 0.5, fma_f64(arc, all_f64(-2.0), all_f64(1.57079632679489662)), arc);
  return signed_f32(narrow_f32(arc), x);
}
INLINE float acos_f32(float x) {
  double a = to_f64(abs_f32(x)), arc = arc_f64(a);
  double side = to_f64(signed_f32(all_f32(1.0f), x));
  double far = choose_f64(side < 0.0, 3.14159265358979324 - arc * 2.0, arc * 2.0);
  return narrow_f32(choose_f64(a > 0.5, far, 1.57079632679489662 - arc * side));
}

INLINE float cosh_f32(float x) {
  double e = exp_f64(to_f64(abs_f32(x)));
  return narrow_f32((e + 1.0 / e) * 0.5);
}
INLINE float sinh_f32(float x) {
  double a = to_f64(abs_f32(x)), e = exp_f64(a), z = a * a;
  double p = fma_f64(z, all_f64(2.5052108385441719e-8), all_f64(2.7557319223985893e-6));
  p = fma_f64(p, z, all_f64(1.9841269841269841e-4));
  p = fma_f64(p, z, all_f64(8.3333333333333333e-3));
  p = fma_f64(p, z, all_f64(1.6666666666666667e-1));
  double size = choose_f64(a < 1.0, fma_f64(p * z, a, a), (e - 1.0 / e) * 0.5);
  return signed_f32(narrow_f32(size), x);
}

INLINE float asinh_f32(float x) {
  double a = to_f64(abs_f32(x)), z = a * a;
  double u = choose_f64(z < __builtin_inf(), a + z / (root_f64(z + 1.0) + 1.0), z);
  return signed_f32(narrow_f32(log1p_f64(u)), x);
}
INLINE float acosh_f32(float x) {
  double d = to_f64(x) - 1.0;
  double y = log1p_f64(d + root_f64(d * (d + 2.0)));
  return narrow_f32(choose_f64(d < 0.0, all_f64(__builtin_nan("")), y));
}
INLINE float atanh_f32(float x) {
  double a = to_f64(abs_f32(x));
  double y = log1p_f64(a * 2.0 / (1.0 - a)) * 0.5;
  y = choose_f64(a > 1.0, all_f64(__builtin_nan("")), y);
  return signed_f32(narrow_f32(y), x);
}
INLINE float log10_f32(float x) {
  return narrow_f32(log_f64(to_f64(x)) * 0.434294481903251828);
}

// The quotient may be one too large or too small where it is near a whole number.
INLINE float fmod_f32(float x, float y) {
  double a = to_f64(abs_f32(x)), b = to_f64(abs_f32(y)), q = a / b;
  double n = q + 4503599627370496.0 - 4503599627370496.0;
  n = choose_f64(n > q, n - 1.0, n);
  double r = fma_f64(-n, b, a);
  r = choose_f64(r < 0.0, r + b, r);
  r = choose_f64(r >= b, r - b, r);
  r = choose_f64(a < b, a, r);  // b may be infinite
  float size = signed_f32(narrow_f32(r), x);
  REPAIR_2_f32(size, narrow_f32(q) < 2251799813685248.0f, fmod_any, x, y);
  return size;
}

// 1 if x, from 0 to 2^26, is a whole number, else 0.
INLINE double is_whole_f64(double x) {
  double n = x + 6755399441055744.0 - 6755399441055744.0;
  return choose_f64(n == x, all_f64(1.0), all_f64(0.0));
}
INLINE float pow_f32(float x, float y) {
  double a = to_f64(abs_f32(x)), b = to_f64(y);
  float size = narrow_f32(choose_f64(a == 1.0, all_f64(1.0), exp_f64(b * log_f64(a))));
  double n = smaller_f64(all_f64(67108864.0), to_f64(abs_f32(y)));  // larger ones are even
  float whole = narrow_f32(is_whole_f64(n)), even = narrow_f32(is_whole_f64(n * 0.5));
  float other = choose_f32(whole > even, -size, size);
  float finite = choose_f32(whole == 0.0f, all_f32(__builtin_nanf("")), other);
  float inside = choose_f32(x > -__builtin_inff(), finite, other);  // -inf is no negative number
  float negative = choose_f32(x == 0.0f, other, inside);
  float turned = choose_f32(signed_f32(all_f32(1.0f), x) < 0.0f, negative, size);
  turned = choose_f32(x != x, x, choose_f32(y != y, y, turned));
  return choose_f32(y == 0.0f, all_f32(1.0f), choose_f32(x == 1.0f, all_f32(1.0f), turned));
}

#define MIN_MAX(T, S)                                                                     \
  INLINE T min_##S(T a, T b) { return choose_##S(b != b, b, smaller_##S(b, a)); }         \
  INLINE T max_##S(T a, T b) { return choose_##S(b != b, b, larger_##S(b, a)); }          \
  INLINE T sign_##S(T a) {                                                                \
    return choose_##S(a > 0, all_##S(1), choose_##S(a < 0, all_##S(-1), all_##S(0))); }
MIN_MAX(float, f32)
MIN_MAX(double, f64)
MIN_MAX(int64_t, i64)
MIN_MAX(int32_t, i32)
