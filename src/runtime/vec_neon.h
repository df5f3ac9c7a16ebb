// Vectors of 128 bits with fused multiply-add (Advanced SIMD of aarch64). Included inside a
// namespace behind neon_begin.h.
inline constexpr int64_t vector_bytes = 16;

#include "runtime/vec_code.h"

#if defined(__aarch64__)
inline constexpr bool has_code = true;

template <>
struct Vec<float> {
  static constexpr int64_t lanes = 4;
  using type = float32x4_t;
  static type zero() { return vdupq_n_f32(0); }
  static type broadcast(float x) { return vdupq_n_f32(x); }
  static type load(const float* from) { return vld1q_f32(from); }
  static void store(float* to, type v) { vst1q_f32(to, v); }
  static type add(type x, type y) { return vaddq_f32(x, y); }
  static type multiply_add(type x, type y, type z) { return vfmaq_f32(z, x, y); }
  // NaN and -0 stay, which a maximum with 0 would make 0.
  static type not_negative(type x) { return vbslq_f32(vcltzq_f32(x), zero(), x); }

  // Four rows of four columns at a time.
  static int64_t transpose_columns(const float* b, int64_t b_col, int64_t k, float* to) {
    const int64_t whole = k / 4 * 4;
    for (int64_t p = 0; p < whole; p += 4)
      for (int64_t j = 0; j < 8; j += 4) {
        const float* from = b + j * b_col + p;
        const type r0 = load(from), r1 = load(from + b_col), r2 = load(from + 2 * b_col),
                   r3 = load(from + 3 * b_col);
        const float64x2_t low01 = vreinterpretq_f64_f32(vzip1q_f32(r0, r1)),
                          low23 = vreinterpretq_f64_f32(vzip1q_f32(r2, r3)),
                          high01 = vreinterpretq_f64_f32(vzip2q_f32(r0, r1)),
                          high23 = vreinterpretq_f64_f32(vzip2q_f32(r2, r3));
        float* out = to + p * 8 + j;
        store(out, vreinterpretq_f32_f64(vzip1q_f64(low01, low23)));
        store(out + 8, vreinterpretq_f32_f64(vzip2q_f64(low01, low23)));
        store(out + 16, vreinterpretq_f32_f64(vzip1q_f64(high01, high23)));
        store(out + 24, vreinterpretq_f32_f64(vzip2q_f64(high01, high23)));
      }
    return whole;
  }
};

template <>
struct Vec<double> {
  static constexpr int64_t lanes = 2;
  using type = float64x2_t;
  static type zero() { return vdupq_n_f64(0); }
  static type broadcast(double x) { return vdupq_n_f64(x); }
  static type load(const double* from) { return vld1q_f64(from); }
  static void store(double* to, type v) { vst1q_f64(to, v); }
  static type add(type x, type y) { return vaddq_f64(x, y); }
  static type multiply_add(type x, type y, type z) { return vfmaq_f64(z, x, y); }
  static int64_t transpose_columns(const double*, int64_t, int64_t, double*) { return 0; }
};
#else
inline constexpr bool has_code = false;
#endif

template <class T>
inline constexpr int mr_of = 12;
