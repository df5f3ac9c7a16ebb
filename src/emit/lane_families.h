// Functions on lanes that differ by type alone: memory and folds of 16 lanes, and those of 64,
// which are four times 16. lane_memory.h says what the memory's are called.
// clang-format off

#define MEMORY(T, S, B)                                                                          \
  INLINE S##x16 get_##S##x16(const T *p) {                                                       \
    S##x16 v; __builtin_memcpy(&v, p, sizeof v); return v; }                                     \
  INLINE S##x16 get_##S##x16_first(const T *p, int64_t left) {                                   \
    return (S##x16)get_first_##B(p, left); }                                                     \
  INLINE S##x16 get_##S##x16_where(const T *p, i32x16 on) {                                      \
    return (S##x16)get_where_##B(p, on); }                                                       \
  INLINE void put_##S##x16(T *p, S##x16 v) { __builtin_memcpy(p, &v, sizeof v); }                \
  INLINE void put_##S##x16_first(T *p, S##x16 v, int64_t left) {                                 \
    put_first_##B(p, (__typeof__(get_first_##B(p, 0)))v, left); }                                \
  INLINE S##x16 same_##S##x16_where(const T *p, i32x16 on) {                                     \
    const T x = any_i32x16(on) ? *p : 0; return x - (S##x16){}; }                                \
  INLINE S##x16 every_other_##S##x16(const T *p) {                                               \
    S##x16 a, b; __builtin_memcpy(&a, p, sizeof a); __builtin_memcpy(&b, p + 15, sizeof b);      \
    return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29,  \
                                   31); }                                                        \
  INLINE S##x16 reversed_##S##x16(S##x16 v) {                                                    \
    return __builtin_shufflevector(v, v, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0); }\
  INLINE S##x16 strided_##S##x16(const T *p, int64_t step) {                                     \
    if (step == 2) return every_other_##S##x16(p);                                               \
    if (step == -1) return reversed_##S##x16(get_##S##x16(p - 15));                              \
    return (S##x16){                                                                             \
                   p[0], p[step], p[2 * step], p[3 * step], p[4 * step], p[5 * step],            \
                   p[6 * step], p[7 * step], p[8 * step], p[9 * step], p[10 * step],             \
                   p[11 * step], p[12 * step], p[13 * step], p[14 * step], p[15 * step]}; }      \
  INLINE S##x16 strided_##S##x16_first(const T *p, int64_t step, int64_t left) {                 \
    if (step == 2 && left >= 16) return every_other_##S##x16(p);                                 \
    if (step == -1 && left >= 16) return reversed_##S##x16(get_##S##x16(p - 15));                \
    const int64_t last = left < 16 ? left - 1 : 15;                                              \
    return (S##x16){                                                                             \
                   p[0], p[(1 < last ? 1 : last) * step], p[(2 < last ? 2 : last) * step],       \
                   p[(3 < last ? 3 : last) * step], p[(4 < last ? 4 : last) * step],             \
                   p[(5 < last ? 5 : last) * step], p[(6 < last ? 6 : last) * step],             \
                   p[(7 < last ? 7 : last) * step], p[(8 < last ? 8 : last) * step],             \
                   p[(9 < last ? 9 : last) * step], p[(10 < last ? 10 : last) * step],           \
                   p[(11 < last ? 11 : last) * step], p[(12 < last ? 12 : last) * step],         \
                   p[(13 < last ? 13 : last) * step], p[(14 < last ? 14 : last) * step],         \
                   p[(15 < last ? 15 : last) * step]}; }                                         \
  INLINE void put_strided_##S##x16(T *p, int64_t step, const S##x16 v) {                         \
    p[0] = v[0], p[step] = v[1], p[2 * step] = v[2], p[3 * step] = v[3], p[4 * step] = v[4],     \
    p[5 * step] = v[5], p[6 * step] = v[6], p[7 * step] = v[7], p[8 * step] = v[8],              \
    p[9 * step] = v[9], p[10 * step] = v[10], p[11 * step] = v[11], p[12 * step] = v[12],        \
    p[13 * step] = v[13], p[14 * step] = v[14], p[15 * step] = v[15]; }                          \
  INLINE void put_strided_##S##x16_first(T *p, int64_t step, const S##x16 v, int64_t left) {     \
    if (left >= 16) return put_strided_##S##x16(p, step, v);                                     \
    for (int l = 0; l < 16; ++l) if (l < left) p[l * step] = v[l]; }                             \
  INLINE S##x16 gather_##S##x16(const T *p, const i64x16 i) {                                    \
    return (S##x16){                                                                             \
                   p[i[0]], p[i[1]], p[i[2]], p[i[3]], p[i[4]], p[i[5]], p[i[6]], p[i[7]],       \
                   p[i[8]], p[i[9]], p[i[10]], p[i[11]], p[i[12]], p[i[13]], p[i[14]],           \
                   p[i[15]]}; }                                                                  \
  INLINE S##x16 gather_##S##x16_first(const T *p, const i64x16 i, int64_t left) {                \
    return gather_##S##x16(p, select_i64x16(first_i32x16(left), i, all_i64x16(i[0]))); }         \
  INLINE S##x16 gather_##S##x16_where(const T *p, const i64x16 i, const i32x16 on) {             \
    typedef __typeof__(get_first_##B(p, 0)) bits;                                                \
    if (!any_i32x16(on)) return (S##x16){};                                                      \
    const i64x16 at = select_i64x16(on, i, all_i64x16(i[first_on_i32x16(on)]));                  \
    return (S##x16)((bits)gather_##S##x16(p, at) & __builtin_convertvector(on, bits)); }         \
  INLINE void scatter_##S##x16(T *p, const i64x16 i, const S##x16 v) {                           \
    p[i[0]] = v[0], p[i[1]] = v[1], p[i[2]] = v[2], p[i[3]] = v[3], p[i[4]] = v[4],              \
    p[i[5]] = v[5], p[i[6]] = v[6], p[i[7]] = v[7], p[i[8]] = v[8], p[i[9]] = v[9],              \
    p[i[10]] = v[10], p[i[11]] = v[11], p[i[12]] = v[12], p[i[13]] = v[13],                      \
    p[i[14]] = v[14], p[i[15]] = v[15]; }                                                        \
  INLINE void scatter_##S##x16_first(T *p, const i64x16 i, const S##x16 v, int64_t left) {       \
    for (int l = 0; l < 16; ++l) if (l < left) p[i[l]] = v[l]; }
MEMORY(float, f32, 4)
MEMORY(double, f64, 8)
MEMORY(int64_t, i64, 8)
MEMORY(int32_t, i32, 4)
MEMORY(int16_t, i16, 2)
MEMORY(uint16_t, u16, 2)
MEMORY(int8_t, i8, 1)
MEMORY(uint8_t, u8, 1)

// Elements at indices that are probably near each other: with AVX-512, where all lie in a window of
// 16, from the first active lane's to the last one's, the window is loaded and permuted. Columns
// resized from 64 to 128 take .28 ns an element so, .36 by gathers; with AVX2, whose comparisons of
// i64 are four, .58 and .41 (Zen 5, 2026-11-30).
#define NEAR(T, S)                                                                               \
  INLINE S##x16 near_##S##x16(const T *p, const i64x16 i) {                                      \
    const i64x16 at = i - i[0];                                                                  \
    if (!has_windows() || !in_window(at, at[15])) return gather_##S##x16(p, i);                  \
    return (S##x16)permuted_4(get_first_4(p + i[0], at[15] + 1), to_i32x16(at)); }               \
  INLINE S##x16 near_##S##x16_where(const T *p, const i64x16 i, const i32x16 on) {               \
    if (!has_windows()) return gather_##S##x16_where(p, i, on);                                  \
    const uint32_t bits = bits_of(on);                                                           \
    if (bits == 0) return (S##x16){};                                                            \
    const int64_t least = i[__builtin_ctz(bits)], last = i[31 - __builtin_clz(bits)] - least;    \
    const i64x16 at = select_i64x16(on, i - least, all_i64x16(0));                               \
    if (!in_window(at, last)) return gather_##S##x16_where(p, i, on);                            \
    return (S##x16)(permuted_4(get_first_4(p + least, last + 1), to_i32x16(at)) & on); }         \
  INLINE S##x16 near_##S##x16_first(const T *p, const i64x16 i, int64_t left) {                  \
    if (!has_windows()) return gather_##S##x16_first(p, i, left);                                \
    return near_##S##x16_where(p, i, first_i32x16(left)); }
NEAR(float, f32)
NEAR(int32_t, i32)

// The lanes folded pairwise: 8, 4, 2, 1.
#define FOLD(T, S, NAME, COMBINED)                                                               \
  INLINE T NAME##_of_##S##x16(S##x16 a) {                                                        \
    S##x16 b;                                                                                    \
    b = __builtin_shufflevector(a, a, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);     \
    a = COMBINED;                                                                                \
    b = __builtin_shufflevector(a, a, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3);     \
    a = COMBINED;                                                                                \
    b = __builtin_shufflevector(a, a, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1);     \
    a = COMBINED;                                                                                \
    b = __builtin_shufflevector(a, a, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0);     \
    a = COMBINED;                                                                                \
    const S##x16 all = a;                                                                        \
    return all[0]; }
FOLD(float, f32, sum, a + b)
FOLD(float, f32, prod, a * b)
FOLD(float, f32, max, max_f32x16(a, b))
FOLD(float, f32, min, min_f32x16(a, b))
FOLD(double, f64, sum, a + b)
FOLD(double, f64, prod, a * b)
FOLD(double, f64, max, max_f64x16(a, b))
FOLD(double, f64, min, min_f64x16(a, b))
FOLD(int64_t, i64, sum, a + b)
FOLD(int64_t, i64, prod, a * b)
FOLD(int64_t, i64, max, max_i64x16(a, b))
FOLD(int64_t, i64, min, min_i64x16(a, b))
FOLD(int32_t, i32, sum, a + b)
FOLD(int32_t, i32, prod, a * b)
FOLD(int32_t, i32, max, max_i32x16(a, b))
FOLD(int32_t, i32, min, min_i32x16(a, b))
FOLD(int32_t, i32, any, a | b)
FOLD(int32_t, i32, all, a & b)

// Columns: 64 lanes are four times 16.
INLINE i32x64 lane_numbers_x64(void) {
  return (i32x64){
      0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
      24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44,
      45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
}
INLINE i32x64 first_i32x64(int64_t left) {
  return lane_numbers_x64() < (int32_t)(left < 64 ? left : 64);
}
INLINE i32x64 lane_at_i32x64(int64_t first, int64_t number) {
  const uint64_t at = (uint64_t)number - (uint64_t)first;
  return lane_numbers_x64() == (int32_t)(at < 64 ? at : 64);
}
INLINE i64x64 lanes_i64x64(int64_t first, int64_t step) {
  return to_i64x64(lane_numbers_x64()) * step + first;
}
#define BY_FOUR(R, A, f)                                                                         \
  INLINE R##x64 f##x64(A##x64 a) {                                                               \
    A##x16 p[4]; __builtin_memcpy(p, &a, sizeof a);                                              \
    R##x16 r[4] = {f##x16(p[0]), f##x16(p[1]), f##x16(p[2]), f##x16(p[3])};                      \
    R##x64 out; __builtin_memcpy(&out, r, sizeof r); return out; }
BY_FOUR(f32, f32, abs_f32)
BY_FOUR(f32, f32, exp_f32)
BY_FOUR(f32, f32, exp2_f32)
BY_FOUR(f32, f32, expm1_f32)
BY_FOUR(f32, f32, log_f32)
BY_FOUR(f32, f32, log2_f32)
BY_FOUR(f32, f32, log1p_f32)
BY_FOUR(f32, f32, tanh_f32)
BY_FOUR(f32, f32, erf_f32)
BY_FOUR(f32, f32, sigmoid_f32)
BY_FOUR(f32, f32, sin_f32)
BY_FOUR(f32, f32, cos_f32)
BY_FOUR(f32, f32, tan_f32)
BY_FOUR(f32, f32, asin_f32)
BY_FOUR(f32, f32, acos_f32)
BY_FOUR(f32, f32, atan_f32)
BY_FOUR(f32, f32, sinh_f32)
BY_FOUR(f32, f32, cosh_f32)
BY_FOUR(f32, f32, asinh_f32)
BY_FOUR(f32, f32, acosh_f32)
BY_FOUR(f32, f32, atanh_f32)
BY_FOUR(f32, f32, log10_f32)
BY_FOUR(f32, f32, sign_f32)
BY_FOUR(f64, f64, exp_f64)
BY_FOUR(f64, f64, log_f64)
BY_FOUR(f64, f64, log1p_f64)
BY_FOUR(f64, f64, sigmoid_f64)
BY_FOUR(f64, f64, sign_f64)
BY_FOUR(i64, i64, sign_i64)
BY_FOUR(i32, i32, sign_i32)
BY_FOUR(f32, u16, load_bf16)
BY_FOUR(f32, u16, load_f16)
BY_FOUR(u16, f32, store_bf16)
BY_FOUR(u16, f32, store_f16)
BY_FOUR(f32, f32, round_bf16)
BY_FOUR(f32, f32, round_f16)
#define BY_FOUR_2(S, f)                                                                          \
  INLINE S##x64 f##_##S##x64(S##x64 a, S##x64 b) {                                               \
    S##x16 p[4], q[4]; __builtin_memcpy(p, &a, sizeof a); __builtin_memcpy(q, &b, sizeof b);     \
    S##x16 r[4] = {f##_##S##x16(p[0], q[0]), f##_##S##x16(p[1], q[1]),                           \
                   f##_##S##x16(p[2], q[2]), f##_##S##x16(p[3], q[3])};                          \
    S##x64 out; __builtin_memcpy(&out, r, sizeof r); return out; }
BY_FOUR_2(f32, min)
BY_FOUR_2(f32, atan2)
BY_FOUR_2(f32, fmod)
BY_FOUR_2(f32, pow)
BY_FOUR_2(f32, max)
BY_FOUR_2(f64, min)
BY_FOUR_2(f64, max)
BY_FOUR_2(i64, min)
BY_FOUR_2(i64, max)
BY_FOUR_2(i32, min)
BY_FOUR_2(i32, max)
#define WIDE(T, S)                                                                               \
  INLINE S##x64 get_##S##x64(const T *p) {                                                       \
    S##x64 v; __builtin_memcpy(&v, p, sizeof v); return v; }                                     \
  INLINE S##x64 get_##S##x64_first(const T *p, int64_t left) {                                   \
    S##x16 part[4] = {                                                                           \
        get_##S##x16_first(p, left), get_##S##x16_first(p + 16, left - 16),                      \
        get_##S##x16_first(p + 32, left - 32), get_##S##x16_first(p + 48, left - 48)};           \
    S##x64 v; __builtin_memcpy(&v, part, sizeof v); return v; }                                  \
  INLINE S##x64 get_##S##x64_where(const T *p, i32x64 on) {                                      \
    i32x16 m[4]; __builtin_memcpy(m, &on, sizeof on);                                            \
    S##x16 part[4] = {                                                                           \
        get_##S##x16_where(p, m[0]), get_##S##x16_where(p + 16, m[1]),                           \
        get_##S##x16_where(p + 32, m[2]), get_##S##x16_where(p + 48, m[3])};                     \
    S##x64 v; __builtin_memcpy(&v, part, sizeof v); return v; }                                  \
  INLINE S##x64 same_##S##x64_where(const T *p, i32x64 on) {                                     \
    i32x16 m[4]; __builtin_memcpy(m, &on, sizeof on);                                            \
    const T x = any_i32x16(m[0] | m[1] | m[2] | m[3]) ? *p : 0; return x - (S##x64){}; }         \
  INLINE void put_##S##x64(T *p, S##x64 v) { __builtin_memcpy(p, &v, sizeof v); }                \
  INLINE void put_##S##x64_first(T *p, S##x64 v, int64_t left) {                                 \
    S##x16 part[4]; __builtin_memcpy(part, &v, sizeof v);                                        \
    put_##S##x16_first(p, part[0], left); put_##S##x16_first(p + 16, part[1], left - 16);        \
    put_##S##x16_first(p + 32, part[2], left - 32);                                              \
    put_##S##x16_first(p + 48, part[3], left - 48); }
WIDE(float, f32)
WIDE(double, f64)
WIDE(int64_t, i64)
WIDE(int32_t, i32)
WIDE(int16_t, i16)
WIDE(uint16_t, u16)
WIDE(int8_t, i8)
WIDE(uint8_t, u8)
