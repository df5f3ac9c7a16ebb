// Vectors of 256 bits (AVX2, FMA, F16C). Included inside a namespace for which the instruction set
// has been chosen (gemm_block_code.h).
inline constexpr int64_t vector_bytes = 32;

#include "runtime/vec_code.h"

#if defined(__x86_64__)
inline constexpr bool has_code = true;

template <>
struct Vec<float> {
  static constexpr int64_t lanes = 8;
  using type = __m256;
  static type zero() { return _mm256_setzero_ps(); }
  static type broadcast(float x) { return _mm256_set1_ps(x); }
  static type load(const float* from) { return _mm256_loadu_ps(from); }
  static void store(float* to, type v) { _mm256_storeu_ps(to, v); }
  static type add(type x, type y) { return _mm256_add_ps(x, y); }
  static type multiply_add(type x, type y, type z) { return _mm256_fmadd_ps(x, y, z); }
  static type not_negative(type x) { return _mm256_max_ps(zero(), x); }  // NaN and -0 stay

  // Four rows of eight columns at a time: columns j and j + 4 share a register, 128 bits each, so
  // that no exchange crosses a 128-bit lane.
  static int64_t transpose_columns(const float* b, int64_t b_col, int64_t k, float* to) {
    const int64_t whole = k / 4 * 4;
    for (int64_t p = 0; p < whole; p += 4)
      for (int64_t j = 0; j < 16; j += 8) {
        const float* from = b + j * b_col + p;
        type r[4];
        for (int i = 0; i < 4; ++i)
          r[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(from + i * b_col)),
                                      _mm_loadu_ps(from + (i + 4) * b_col), 1);
        const type low01 = _mm256_unpacklo_ps(r[0], r[1]), low23 = _mm256_unpacklo_ps(r[2], r[3]);
        const type high01 = _mm256_unpackhi_ps(r[0], r[1]), high23 = _mm256_unpackhi_ps(r[2], r[3]);
        float* out = to + p * 16 + j;
        store(out, _mm256_shuffle_ps(low01, low23, 0x44));
        store(out + 16, _mm256_shuffle_ps(low01, low23, 0xee));
        store(out + 32, _mm256_shuffle_ps(high01, high23, 0x44));
        store(out + 48, _mm256_shuffle_ps(high01, high23, 0xee));
      }
    return whole;
  }
};

template <>
struct Vec<double> {
  static constexpr int64_t lanes = 4;
  using type = __m256d;
  static type zero() { return _mm256_setzero_pd(); }
  static type broadcast(double x) { return _mm256_set1_pd(x); }
  static type load(const double* from) { return _mm256_loadu_pd(from); }
  static void store(double* to, type v) { _mm256_storeu_pd(to, v); }
  static type add(type x, type y) { return _mm256_add_pd(x, y); }
  static type multiply_add(type x, type y, type z) { return _mm256_fmadd_pd(x, y, z); }
  static int64_t transpose_columns(const double*, int64_t, int64_t, double*) { return 0; }
};
#else
inline constexpr bool has_code = false;
#endif

template <class T>
inline constexpr int mr_of = 6;
