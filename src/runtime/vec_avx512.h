// Vectors of 512 bits (AVX-512 F, BW, DQ, VL). Included inside a namespace for which the
// instruction set has been chosen (gemm_block_code.h).
inline constexpr int64_t vector_bytes = 64;

#include "runtime/vec_code.h"

#if defined(__x86_64__)
inline constexpr bool has_code = true;

template <>
struct Vec<float> {
  static constexpr int64_t lanes = 16;
  using type = __m512;
  static type zero() { return _mm512_setzero_ps(); }
  static type broadcast(float x) { return _mm512_set1_ps(x); }
  static type load(const float* from) { return _mm512_loadu_ps(from); }
  static void store(float* to, type v) { _mm512_storeu_ps(to, v); }
  static type add(type x, type y) { return _mm512_add_ps(x, y); }
  static type multiply_add(type x, type y, type z) { return _mm512_fmadd_ps(x, y, z); }
  static type not_negative(type x) { return _mm512_max_ps(zero(), x); }  // NaN and -0 stay

  // Four rows of sixteen columns at a time: columns j, j + 4, j + 8 and j + 12 share a register,
  // 128 bits each, so that no exchange crosses a 128-bit lane.
  static int64_t transpose_columns(const float* b, int64_t b_col, int64_t k, float* to) {
    const int64_t whole = k / 4 * 4;
    for (int64_t p = 0; p < whole; p += 4)
      for (int64_t j = 0; j < 32; j += 16) {
        const float* from = b + j * b_col + p;
        type r[4];
        for (int i = 0; i < 4; ++i) {
          const auto quarter = [&](int q) { return _mm_loadu_ps(from + (i + 4 * q) * b_col); };
          r[i] = _mm512_castps128_ps512(quarter(0));
          r[i] = _mm512_insertf32x4(r[i], quarter(1), 1);
          r[i] = _mm512_insertf32x4(r[i], quarter(2), 2);
          r[i] = _mm512_insertf32x4(r[i], quarter(3), 3);
        }
        const type low01 = _mm512_unpacklo_ps(r[0], r[1]), low23 = _mm512_unpacklo_ps(r[2], r[3]);
        const type high01 = _mm512_unpackhi_ps(r[0], r[1]), high23 = _mm512_unpackhi_ps(r[2], r[3]);
        float* out = to + p * 32 + j;
        store(out, _mm512_shuffle_ps(low01, low23, 0x44));
        store(out + 32, _mm512_shuffle_ps(low01, low23, 0xee));
        store(out + 64, _mm512_shuffle_ps(high01, high23, 0x44));
        store(out + 96, _mm512_shuffle_ps(high01, high23, 0xee));
      }
    return whole;
  }
};

template <>
struct Vec<double> {
  static constexpr int64_t lanes = 8;
  using type = __m512d;
  static type zero() { return _mm512_setzero_pd(); }
  static type broadcast(double x) { return _mm512_set1_pd(x); }
  static type load(const double* from) { return _mm512_loadu_pd(from); }
  static void store(double* to, type v) { _mm512_storeu_pd(to, v); }
  static type add(type x, type y) { return _mm512_add_pd(x, y); }
  static type multiply_add(type x, type y, type z) { return _mm512_fmadd_pd(x, y, z); }
  static int64_t transpose_columns(const double*, int64_t, int64_t, double*) { return 0; }
};
#else
inline constexpr bool has_code = false;
#endif

template <class T>
inline constexpr int mr_of = 12;
