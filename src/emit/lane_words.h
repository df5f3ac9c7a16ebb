// The vector types and the primitives that elementary_functions.h is written in, for 16 lanes; with
// x16 replaced by x64 they are those for 64 (c_prelude.cpp). GCC's vector types: the compiler
// splits them into the available registers. Truth values are i32 or i64 lanes of 0 and -1: choose_
// takes the width of its operands, select_ always i32.
// clang-format off

enum { lanes_x16 = 16 };
typedef float f32x16 __attribute__((vector_size(lanes_x16 * sizeof(float))));
typedef double f64x16 __attribute__((vector_size(lanes_x16 * sizeof(double))));
typedef int64_t i64x16 __attribute__((vector_size(lanes_x16 * sizeof(int64_t))));
typedef int32_t i32x16 __attribute__((vector_size(lanes_x16 * sizeof(int32_t))));
typedef uint32_t u32x16 __attribute__((vector_size(lanes_x16 * sizeof(uint32_t))));
typedef uint64_t u64x16 __attribute__((vector_size(lanes_x16 * sizeof(uint64_t))));
typedef int16_t i16x16 __attribute__((vector_size(lanes_x16 * sizeof(int16_t))));
typedef uint16_t u16x16 __attribute__((vector_size(lanes_x16 * sizeof(uint16_t))));
typedef int8_t i8x16 __attribute__((vector_size(lanes_x16 * sizeof(int8_t))));
typedef uint8_t u8x16 __attribute__((vector_size(lanes_x16 * sizeof(uint8_t))));

// R[l] = f(a[l]), f(a[l], b[l]): for functions without a vector form.
#define EACH(R, f, a)                                                                    \
  ({ __typeof__(a) each_a = (a); R each_r;                                               \
     for (int l = 0; l < (int)(sizeof each_r / sizeof each_r[0]); ++l) each_r[l] = f(each_a[l]); \
     each_r; })
#define EACH_3(R, f, a, b, c)                                                            \
  ({ __typeof__(a) each_a = (a); __typeof__(b) each_b = (b); __typeof__(c) each_c = (c); \
     R each_r;                                                                           \
     for (int l = 0; l < (int)(sizeof each_r / sizeof each_r[0]); ++l)                   \
       each_r[l] = f(each_a[l], each_b[l], each_c[l]);                                   \
     each_r; })
#define EACH_2(R, f, a, b)                                                               \
  ({ __typeof__(a) each_a = (a); __typeof__(b) each_b = (b); R each_r;                   \
     for (int l = 0; l < (int)(sizeof each_r / sizeof each_r[0]); ++l)                   \
       each_r[l] = f(each_a[l], each_b[l]);                                              \
     each_r; })

INLINE f32x16 bits_f32x16(u32x16 u) { return (f32x16)u; }
INLINE u32x16 bits_u32x16(f32x16 f) { return (u32x16)f; }
INLINE u32x16 widen_u16x16(u16x16 h) { return __builtin_convertvector(h, u32x16); }
INLINE u16x16 narrow_u16x16(u32x16 u) { return __builtin_convertvector(u, u16x16); }
INLINE f32x16 all_f32x16(float x) { return x - (f32x16){}; }
INLINE f64x16 all_f64x16(double x) { return x - (f64x16){}; }
INLINE i32x16 all_i32x16(int32_t x) { return x + (i32x16){}; }
INLINE i64x16 all_i64x16(int64_t x) { return x + (i64x16){}; }
INLINE u32x16 all_u32x16(uint32_t x) { return x + (u32x16){}; }
#define to_f32x16(v) __builtin_convertvector(v, f32x16)
#define to_f64x16(v) __builtin_convertvector(v, f64x16)
#define to_i32x16(v) __builtin_convertvector(v, i32x16)
#define to_i64x16(v) __builtin_convertvector(v, i64x16)
#define to_i16x16(v) __builtin_convertvector(v, i16x16)
#define to_i8x16(v) __builtin_convertvector(v, i8x16)
#define to_u8x16(v) __builtin_convertvector(v, u8x16)
INLINE f32x16 choose_f32x16(i32x16 c, f32x16 a, f32x16 b) {
  return (f32x16)(((i32x16)a & c) | ((i32x16)b & ~c));
}
INLINE f64x16 choose_f64x16(i64x16 c, f64x16 a, f64x16 b) {
  return (f64x16)(((i64x16)a & c) | ((i64x16)b & ~c));
}
INLINE i32x16 choose_i32x16(i32x16 c, i32x16 a, i32x16 b) {
  return (i32x16)(((i32x16)a & c) | ((i32x16)b & ~c));
}
INLINE i64x16 choose_i64x16(i64x16 c, i64x16 a, i64x16 b) {
  return (i64x16)(((i64x16)a & c) | ((i64x16)b & ~c));
}
INLINE u32x16 choose_u32x16(i32x16 c, u32x16 a, u32x16 b) {
  return (u32x16)(((i32x16)a & c) | ((i32x16)b & ~c));
}
INLINE f32x16 select_f32x16(i32x16 c, f32x16 a, f32x16 b) { return choose_f32x16(c, a, b); }
INLINE i32x16 select_i32x16(i32x16 c, i32x16 a, i32x16 b) { return choose_i32x16(c, a, b); }
INLINE f64x16 select_f64x16(i32x16 c, f64x16 a, f64x16 b) {
  return choose_f64x16(to_i64x16(c), a, b);
}
INLINE i64x16 select_i64x16(i32x16 c, i64x16 a, i64x16 b) {
  return choose_i64x16(to_i64x16(c), a, b);
}
#define narrow_f32x16(v) __builtin_convertvector(v, f32x16)
INLINE i32x16 low_i32x16(f64x16 v) { return to_i32x16((i64x16)v); }
INLINE f32x16 fma_f32x16(f32x16 a, f32x16 b, f32x16 c) {
#if __has_builtin(__builtin_elementwise_fma)
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
INLINE f64x16 fma_f64x16(f64x16 a, f64x16 b, f64x16 c) {
#if __has_builtin(__builtin_elementwise_fma)
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
INLINE int are_all_x16(i32x16 good) {
#if __has_builtin(__builtin_reduce_and)
  return __builtin_reduce_and(good) != 0;
#else
  int all = 1;
  for (int l = 0; l < lanes_x16; ++l) all &= good[l];
  return all;
#endif
}
// Replaces each y[l] by f(x[l]) unless good[l].
#define REPAIR_f32x16(y, good, f, x)                                                     \
  ({ i32x16 each_good = (good);                                                          \
     if (!are_all_x16(each_good))                                                        \
       for (int l = 0; l < lanes_x16; ++l) if (!each_good[l]) y[l] = f(x[l]); })
INLINE f64x16 abs_f64x16(f64x16 v) { return (f64x16)((u64x16)v & 0x7fffffffffffffffu); }
INLINE f32x16 sqrt_f32x16(f32x16 v) {
#if __has_builtin(__builtin_elementwise_sqrt)
  return __builtin_elementwise_sqrt(v);
#else
  return EACH(f32x16, __builtin_sqrtf, v);
#endif
}
INLINE f64x16 sqrt_f64x16(f64x16 v) {
#if __has_builtin(__builtin_elementwise_sqrt)
  return __builtin_elementwise_sqrt(v);
#else
  return EACH(f64x16, __builtin_sqrt, v);
#endif
}
INLINE f32x16 floor_f32x16(f32x16 v) {
#if __has_builtin(__builtin_elementwise_floor)
  return __builtin_elementwise_floor(v);
#else
  return EACH(f32x16, __builtin_floorf, v);
#endif
}
INLINE f64x16 floor_f64x16(f64x16 v) {
#if __has_builtin(__builtin_elementwise_floor)
  return __builtin_elementwise_floor(v);
#else
  return EACH(f64x16, __builtin_floor, v);
#endif
}
INLINE f32x16 ceil_f32x16(f32x16 v) {
#if __has_builtin(__builtin_elementwise_ceil)
  return __builtin_elementwise_ceil(v);
#else
  return EACH(f32x16, __builtin_ceilf, v);
#endif
}
INLINE f64x16 ceil_f64x16(f64x16 v) {
#if __has_builtin(__builtin_elementwise_ceil)
  return __builtin_elementwise_ceil(v);
#else
  return EACH(f64x16, __builtin_ceil, v);
#endif
}
INLINE f32x16 trunc_f32x16(f32x16 v) {
#if __has_builtin(__builtin_elementwise_trunc)
  return __builtin_elementwise_trunc(v);
#else
  return EACH(f32x16, __builtin_truncf, v);
#endif
}
INLINE f64x16 trunc_f64x16(f64x16 v) {
#if __has_builtin(__builtin_elementwise_trunc)
  return __builtin_elementwise_trunc(v);
#else
  return EACH(f64x16, __builtin_trunc, v);
#endif
}
INLINE f32x16 rint_f32x16(f32x16 v) {
#if __has_builtin(__builtin_elementwise_rint)
  return __builtin_elementwise_rint(v);
#else
  return EACH(f32x16, __builtin_rintf, v);
#endif
}
INLINE f64x16 rint_f64x16(f64x16 v) {
#if __has_builtin(__builtin_elementwise_rint)
  return __builtin_elementwise_rint(v);
#else
  return EACH(f64x16, __builtin_rint, v);
#endif
}
INLINE i32x16 f32_to_i32x16(f32x16 v) {
  i32x16 in = (v >= -2147483648.0f) & (v < 2147483648.0f);
  i32x16 to = to_i32x16(choose_f32x16(in, v, all_f32x16(0.0f)));
  return choose_i32x16(in, to, all_i32x16(-2147483647 - 1));
}
INLINE i64x16 f64_to_i64x16(f64x16 v) {
  i64x16 in = (v >= -9223372036854775808.0) & (v < 9223372036854775808.0);
  return choose_i64x16(in, to_i64x16(choose_f64x16(in, v, all_f64x16(0.0))),
                     all_i64x16(-9223372036854775807L - 1));
}
INLINE i64x16 f32_to_i64x16(f32x16 v) { return f64_to_i64x16(to_f64x16(v)); }
INLINE i32x16 f64_to_i32x16(f64x16 v) {
  i64x16 in = (v > -2147483649.0) & (v < 2147483648.0);
  i32x16 to = to_i32x16(choose_f64x16(in, v, all_f64x16(0.0)));
  return choose_i32x16(to_i32x16(in), to, all_i32x16(-2147483647 - 1));
}
