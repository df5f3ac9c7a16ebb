// gemm_block.h for processors with AVX2, FMA and F16C: tiles of 6 x 16 f32 in 12 registers.
#include <array>
#include <cstring>
#include <type_traits>
#include <utility>

#include "runtime/gemm_block.h"
#include "runtime/half.h"

#if defined(__x86_64__)
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
#pragma GCC optimize("O3")
#endif

namespace cleave::runtime {
namespace {

// Integers: the compiler's vectors.
template <class T>
struct Vec {
  static constexpr int64_t lanes = 32 / sizeof(T);
  typedef T type __attribute__((vector_size(32)));

  static type zero() { return type{}; }
  static type all(T x) { return x - type{}; }
  static type load(const T* from) {
    type v;
    std::memcpy(&v, from, sizeof v);
    return v;
  }
  static void store(T* to, type v) { std::memcpy(to, &v, sizeof v); }
  static type add(type x, type y) { return x + y; }
  static type multiply_add(type x, type y, type z) { return z + x * y; }
  static int64_t turn_columns(const T*, int64_t, int64_t, T*) { return 0; }
};

#include "runtime/turn_avx2.h"

template <>
struct Vec<float> {
  static constexpr int64_t lanes = 8;
  using type = __m256;
  static type zero() { return _mm256_setzero_ps(); }
  static type all(float x) { return _mm256_set1_ps(x); }
  static type load(const float* from) { return _mm256_loadu_ps(from); }
  static void store(float* to, type v) { _mm256_storeu_ps(to, v); }
  static type add(type x, type y) { return _mm256_add_ps(x, y); }
  static type multiply_add(type x, type y, type z) { return _mm256_fmadd_ps(x, y, z); }
  static int64_t turn_columns(const float* b, int64_t b_col, int64_t k, float* to) {
    return turn_f32<16>(b, b_col, k, to);
  }
};

template <>
struct Vec<double> {
  static constexpr int64_t lanes = 4;
  using type = __m256d;
  static type zero() { return _mm256_setzero_pd(); }
  static type all(double x) { return _mm256_set1_pd(x); }
  static type load(const double* from) { return _mm256_loadu_pd(from); }
  static void store(double* to, type v) { _mm256_storeu_pd(to, v); }
  static type add(type x, type y) { return _mm256_add_pd(x, y); }
  static type multiply_add(type x, type y, type z) { return _mm256_fmadd_pd(x, y, z); }
  static int64_t turn_columns(const double*, int64_t, int64_t, double*) { return 0; }
};

template <class T>
inline constexpr int mr_of = 6;

inline constexpr int64_t kc_bytes = 1024;

#include "runtime/gemm_block_code.h"

}  // namespace

GemmBlockKernel gemm_block_kernel_avx2(DType dtype) { return kernel_for(dtype); }

}  // namespace cleave::runtime

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#else
namespace cleave::runtime {
GemmBlockKernel gemm_block_kernel_avx2(DType) { return {}; }
}  // namespace cleave::runtime
#endif
