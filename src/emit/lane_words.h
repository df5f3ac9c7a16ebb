// Functions of the operators on 16 lanes that are one instruction or two; with x16 replaced by x64
// they are those on 64 (cmake/write_prelude.cmake). select_ takes i32 truth values of any operands.
// clang-format off

INLINE f32x16 select_f32x16(i32x16 c, f32x16 a, f32x16 b) { return choose_f32x16(c, a, b); }
INLINE i32x16 select_i32x16(i32x16 c, i32x16 a, i32x16 b) { return choose_i32x16(c, a, b); }
INLINE f64x16 select_f64x16(i32x16 c, f64x16 a, f64x16 b) {
  return choose_f64x16(to_i64x16(c), a, b);
}
INLINE i64x16 select_i64x16(i32x16 c, i64x16 a, i64x16 b) {
  return choose_i64x16(to_i64x16(c), a, b);
}
// By what is less than 0 or not less than the width: all bits out (kernel_functions.h).
INLINE i32x16 shl_i32x16(i32x16 a, i32x16 n) {
  const i32x16 out = (n < 0) | (n >= 32);
  return choose_i32x16(out, all_i32x16(0), (i32x16)((u32x16)a << (u32x16)(n & ~out)));
}
INLINE i32x16 shr_i32x16(i32x16 a, i32x16 n) {
  return a >> choose_i32x16((n < 0) | (n >= 32), all_i32x16(31), n);
}
INLINE i64x16 shl_i64x16(i64x16 a, i64x16 n) {
  const i64x16 out = (n < 0) | (n >= 64);
  return choose_i64x16(out, all_i64x16(0), (i64x16)((u64x16)a << (u64x16)(n & ~out)));
}
INLINE i64x16 shr_i64x16(i64x16 a, i64x16 n) {
  return a >> choose_i64x16((n < 0) | (n >= 64), all_i64x16(63), n);
}
INLINE f64x16 abs_f64x16(f64x16 v) { return (f64x16)((u64x16)v & 0x7fffffffffffffffu); }
INLINE f32x16 sqrt_f32x16(f32x16 v) {
#if __has_builtin(__builtin_elementwise_sqrt) || LANE_PARTS
  return __builtin_elementwise_sqrt(v);
#else
  return EACH(f32x16, __builtin_sqrtf, v);
#endif
}
INLINE f64x16 sqrt_f64x16(f64x16 v) {
#if __has_builtin(__builtin_elementwise_sqrt) || LANE_PARTS
  return __builtin_elementwise_sqrt(v);
#else
  return EACH(f64x16, __builtin_sqrt, v);
#endif
}
INLINE f32x16 floor_f32x16(f32x16 v) {
#if __has_builtin(__builtin_elementwise_floor) || LANE_PARTS
  return __builtin_elementwise_floor(v);
#else
  return EACH(f32x16, __builtin_floorf, v);
#endif
}
INLINE f64x16 floor_f64x16(f64x16 v) {
#if __has_builtin(__builtin_elementwise_floor) || LANE_PARTS
  return __builtin_elementwise_floor(v);
#else
  return EACH(f64x16, __builtin_floor, v);
#endif
}
INLINE f32x16 ceil_f32x16(f32x16 v) {
#if __has_builtin(__builtin_elementwise_ceil) || LANE_PARTS
  return __builtin_elementwise_ceil(v);
#else
  return EACH(f32x16, __builtin_ceilf, v);
#endif
}
INLINE f64x16 ceil_f64x16(f64x16 v) {
#if __has_builtin(__builtin_elementwise_ceil) || LANE_PARTS
  return __builtin_elementwise_ceil(v);
#else
  return EACH(f64x16, __builtin_ceil, v);
#endif
}
INLINE f32x16 trunc_f32x16(f32x16 v) {
#if __has_builtin(__builtin_elementwise_trunc) || LANE_PARTS
  return __builtin_elementwise_trunc(v);
#else
  return EACH(f32x16, __builtin_truncf, v);
#endif
}
INLINE f64x16 trunc_f64x16(f64x16 v) {
#if __has_builtin(__builtin_elementwise_trunc) || LANE_PARTS
  return __builtin_elementwise_trunc(v);
#else
  return EACH(f64x16, __builtin_trunc, v);
#endif
}
INLINE f32x16 rint_f32x16(f32x16 v) {
#if __has_builtin(__builtin_elementwise_rint) || LANE_PARTS
  return __builtin_elementwise_rint(v);
#else
  return EACH(f32x16, __builtin_rintf, v);
#endif
}
INLINE f64x16 rint_f64x16(f64x16 v) {
#if __has_builtin(__builtin_elementwise_rint) || LANE_PARTS
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
