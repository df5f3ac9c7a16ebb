// Macros that take expressions, so that there is no function for each type.
// clang-format off

#define INLINE static inline __attribute__((always_inline))
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
// n lanes of T. gcc without AVX-512 has them in parts (lane_parts.inc).
#define VECTOR(T, n) T __attribute__((vector_size((n) * sizeof(T))))
#if LANE_PARTS
  #undef VECTOR
  #define VECTOR(T, n) Lanes<T, n>
#endif
