// Functions that kernels call on lanes, beyond those of lane_words.h: memory, tails, folds.
//
//   get_, put_           consecutive elements; _first: the first `left` ones, the other lanes are 0
//   strided_, gather_    elements `step` apart, elements at a vector of indices; put_strided_,
//   scatter_             stores of such
//   near_                as gather_, of indices that are probably near each other
//   _where               only the active lanes; the others are 0 and access no other memory
//
// With AVX-512, partial vectors are masked loads and stores. AVX2 has masked loads of 4 and 8
// bytes; where a compiler knows that half a vector is left, none are needed. Other tails go through
// memcpy. A Zen 5 doesn't prefetch for masked loads (GELU of 64 MB takes 2.5 times as long,
// 2026-11), but does for a prefetch of the same line, which costs the compiler less than a branch
// around the mask. With AVX2, a relu of [n,12] and a bias takes .22 ns an element so, .52 with
// memcpy, of [n,8] .06 and .45 (Zen 5, 2026-11-30). Parts of vectors are written out: a loop over
// two of them isn't taken apart, and goes by way of memory.
// clang-format off

typedef long long eight_i64 __attribute__((vector_size(64)));
typedef short sixteen_i16 __attribute__((vector_size(32)));
typedef char sixteen_i8 __attribute__((vector_size(16)));
typedef float eight_f32 __attribute__((vector_size(32)));
typedef int eight_i32 __attribute__((vector_size(32)));
typedef long long four_i64 __attribute__((vector_size(32)));

INLINE i32x16 first_i32x16(int64_t left) {
  const i32x16 lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  return lane < (int32_t)(left < 16 ? left : 16);
}
// The lane of `number` if lanes count up from `first`.
INLINE i32x16 lane_at_i32x16(int64_t first, int64_t number) {
  const i32x16 lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const uint64_t at = (uint64_t)number - (uint64_t)first;
  return lane == (int32_t)(at < 16 ? at : 16);
}
INLINE i64x16 lanes_i64x16(int64_t first, int64_t step) {
  return ((i64x16){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}) * step + first;
}
INLINE uint32_t bits_of(i32x16 on) {
#ifdef __AVX512BW__
  return (uint16_t)__builtin_ia32_cvtd2mask512(on);
#elif defined __AVX2__
  eight_f32 half[2];
  __builtin_memcpy(half, &on, sizeof half);
  return (uint32_t)__builtin_ia32_movmskps256(half[0]) |
         (uint32_t)__builtin_ia32_movmskps256(half[1]) << 8;
#elif LANE_PARTS
  return bits_of_lanes(on);
#else
  uint32_t bits = 0;
  for (int l = 0; l < 16; ++l) bits |= (uint32_t)(on[l] & 1) << l;
  return bits;
#endif
}
INLINE int any_i32x16(i32x16 on) { return bits_of(on) != 0; }
INLINE int first_on_i32x16(i32x16 on) { return __builtin_ctz(bits_of(on) | 0x10000u) & 15; }

// Whether a compiler knows that half of 16 lanes are left, or none: no masks are needed.
#define is_known_half(left) (__builtin_constant_p(left) && (left) % 8 == 0 && (left) < 16)
// For 16 elements of 1, 2, 4 or 8 bytes: the first ones, and the active ones.
INLINE uint32_t first_bits(int64_t left) {
  return left >= 16 ? 0xffffu : left <= 0 ? 0u : (1u << left) - 1u;
}
INLINE u8x16 get_first_1(const void *p, int64_t left) {
#ifdef __AVX512BW__
  __builtin_prefetch(p);
  return (u8x16)__builtin_ia32_loaddquqi128_mask((const char *)p, (sixteen_i8){}, first_bits(left));
#elif LANE_PARTS
  return first_lanes<u8x16>(p, left);
#else
  u8x16 v = {};
  if (left >= 16) __builtin_memcpy(&v, p, sizeof v);
  else if (left > 0) __builtin_memcpy(&v, p, left * 1);
  return v;
#endif
}
INLINE u8x16 get_where_1(const void *p, i32x16 on) {
#ifdef __AVX512BW__
  return (u8x16)__builtin_ia32_loaddquqi128_mask((const char *)p, (sixteen_i8){}, bits_of(on));
#else
  u8x16 v = {};
  for (int l = 0; l < 16; ++l)
    if (on[l]) __builtin_memcpy((char *)&v + l * 1, (const char *)p + l * 1, 1);
  return v;
#endif
}
INLINE void put_first_1(void *p, u8x16 v, int64_t left) {
#ifdef __AVX512BW__
  __builtin_ia32_storedquqi128_mask((char *)p, (sixteen_i8)v, first_bits(left));
#elif LANE_PARTS
  put_first_lanes(p, v, left);
#else
  if (left >= 16) __builtin_memcpy(p, &v, sizeof v);
  else if (left > 0) __builtin_memcpy(p, &v, left * 1);
#endif
}
INLINE u16x16 get_first_2(const void *p, int64_t left) {
#ifdef __AVX512BW__
  __builtin_prefetch(p);
  return (u16x16)__builtin_ia32_loaddquhi256_mask((const short *)p, (sixteen_i16){},
                                                first_bits(left));
#elif LANE_PARTS
  return first_lanes<u16x16>(p, left);
#else
  u16x16 v = {};
  if (left >= 16) __builtin_memcpy(&v, p, sizeof v);
  else if (left > 0) __builtin_memcpy(&v, p, left * 2);
  return v;
#endif
}
INLINE u16x16 get_where_2(const void *p, i32x16 on) {
#ifdef __AVX512BW__
  return (u16x16)__builtin_ia32_loaddquhi256_mask((const short *)p, (sixteen_i16){}, bits_of(on));
#else
  u16x16 v = {};
  for (int l = 0; l < 16; ++l)
    if (on[l]) __builtin_memcpy((char *)&v + l * 2, (const char *)p + l * 2, 2);
  return v;
#endif
}
INLINE void put_first_2(void *p, u16x16 v, int64_t left) {
#ifdef __AVX512BW__
  __builtin_ia32_storedquhi256_mask((short *)p, (sixteen_i16)v, first_bits(left));
#elif LANE_PARTS
  put_first_lanes(p, v, left);
#else
  if (left >= 16) __builtin_memcpy(p, &v, sizeof v);
  else if (left > 0) __builtin_memcpy(p, &v, left * 2);
#endif
}
INLINE i32x16 get_where_4(const void *p, i32x16 on) {
#ifdef __AVX512BW__
  return (i32x16)__builtin_ia32_loaddqusi512_mask((const int *)p, (i32x16){}, bits_of(on));
#elif defined __AVX2__
  i32x16 v;
  eight_i32 half[2];
  __builtin_memcpy(half, &on, sizeof half);
  half[0] = __builtin_ia32_maskloadd256((const eight_i32 *)p, half[0]);
  half[1] = __builtin_ia32_maskloadd256((const eight_i32 *)((const int *)p + 8), half[1]);
  __builtin_memcpy(&v, half, sizeof v);
  return v;
#else
  i32x16 v = {};
  for (int l = 0; l < 16; ++l)
    if (on[l]) __builtin_memcpy((char *)&v + l * 4, (const char *)p + l * 4, 4);
  return v;
#endif
}
// The first 8 lanes, or none.
INLINE i32x16 get_half_4(const void *p, int64_t left) {
  i32x16 v = {};
  if (left > 0) __builtin_memcpy(&v, p, 32);
  return v;
}
INLINE i32x16 get_first_4(const void *p, int64_t left) {
#ifdef __AVX512BW__
  __builtin_prefetch(p);
  return (i32x16)__builtin_ia32_loaddqusi512_mask((const int *)p, (i32x16){}, first_bits(left));
#elif LANE_PARTS
  return first_lanes<i32x16>(p, left);
#elif defined __AVX2__
  if (is_known_half(left)) return get_half_4(p, left);
  if (left < 16) {
    __builtin_prefetch(p);
    return get_where_4(p, first_i32x16(left));
  }
  i32x16 v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
#else
  i32x16 v = {};
  if (left >= 16) __builtin_memcpy(&v, p, sizeof v);
  else if (left > 0) __builtin_memcpy(&v, p, left * 4);
  return v;
#endif
}
// Fewer than 16 lanes, in pieces of 8, 4, 2 and 1, which may be of floats: no store of an int.
// Masked stores are slow before Zen 5.
INLINE void put_parts_4(char *p, i32x16 v, int64_t left) {
  if (left <= 0) return;
  if (left & 8) {
    __builtin_memcpy(p, &v, 32);
    p += 32;
    v = __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15);
  }
  if (left & 4) {
    __builtin_memcpy(p, &v, 16);
    p += 16;
    v = __builtin_shufflevector(v, v, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7);
  }
  if (left & 2) {
    __builtin_memcpy(p, &v, 8);
    p += 8;
    v = __builtin_shufflevector(v, v, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3);
  }
  if (left & 1) __builtin_memcpy(p, &v, 4);
}
INLINE void put_first_4(void *p, i32x16 v, int64_t left) {
#ifdef __AVX512BW__
  __builtin_ia32_storedqusi512_mask((int *)p, (i32x16)v, first_bits(left));
#elif LANE_PARTS
  put_first_lanes(p, v, left);
#elif defined __AVX2__
  if (left >= 16) __builtin_memcpy(p, &v, sizeof v);
  else put_parts_4((char *)p, v, left);
#else
  if (left >= 16) __builtin_memcpy(p, &v, sizeof v);
  else if (left > 0) __builtin_memcpy(p, &v, left * 4);
#endif
}
INLINE i64x16 get_first_8(const void *p, int64_t left) {
  i64x16 v = {};
#ifdef __AVX512BW__
  __builtin_prefetch(p);
  eight_i64 half[2];
  const uint32_t bits = first_bits(left);
  half[0] = __builtin_ia32_loaddqudi512_mask((const long long *)p, (eight_i64){}, bits & 0xffu);
  half[1] = __builtin_ia32_loaddqudi512_mask((const long long *)p + 8, (eight_i64){}, bits >> 8);
  __builtin_memcpy(&v, half, sizeof v);
#elif LANE_PARTS
  v = first_lanes<i64x16>(p, left);
#else
  if (left >= 16) __builtin_memcpy(&v, p, sizeof v);
  else if (left > 0) __builtin_memcpy(&v, p, left * 8);
#endif
  return v;
}
INLINE i64x16 get_where_8(const void *p, i32x16 on) {
  i64x16 v = {};
#ifdef __AVX512BW__
  eight_i64 half[2];
  const uint32_t bits = bits_of(on);
  half[0] = __builtin_ia32_loaddqudi512_mask((const long long *)p, (eight_i64){}, bits & 0xffu);
  half[1] = __builtin_ia32_loaddqudi512_mask((const long long *)p + 8, (eight_i64){}, bits >> 8);
  __builtin_memcpy(&v, half, sizeof v);
#elif defined __AVX2__
  const i64x16 wide = __builtin_convertvector(on, i64x16);
  four_i64 part[4];
  __builtin_memcpy(part, &wide, sizeof part);
  const long long *at = p;
  part[0] = __builtin_ia32_maskloadq256((const four_i64 *)at, part[0]);
  part[1] = __builtin_ia32_maskloadq256((const four_i64 *)(at + 4), part[1]);
  part[2] = __builtin_ia32_maskloadq256((const four_i64 *)(at + 8), part[2]);
  part[3] = __builtin_ia32_maskloadq256((const four_i64 *)(at + 12), part[3]);
  __builtin_memcpy(&v, part, sizeof v);
#else
  for (int l = 0; l < 16; ++l)
    if (on[l]) __builtin_memcpy((char *)&v + l * 8, (const char *)p + l * 8, 8);
#endif
  return v;
}
INLINE void put_first_8(void *p, i64x16 v, int64_t left) {
#ifdef __AVX512BW__
  eight_i64 half[2];
  const uint32_t bits = first_bits(left);
  __builtin_memcpy(half, &v, sizeof v);
  __builtin_ia32_storedqudi512_mask((long long *)p, half[0], bits & 0xffu);
  __builtin_ia32_storedqudi512_mask((long long *)p + 8, half[1], bits >> 8);
#elif LANE_PARTS
  put_first_lanes(p, v, left);
#else
  if (left >= 16) __builtin_memcpy(p, &v, sizeof v);
  else if (left > 0) __builtin_memcpy(p, &v, left * 8);
#endif
}
// Whether elements of a window that is loaded are permuted faster than each is loaded.
INLINE int has_windows(void) {
#ifdef __AVX512BW__
  return 1;
#else
  return 0;
#endif
}
// Whether all of the lanes are 0 to `last`, which is below 16.
INLINE int in_window(i64x16 at, int64_t last) {
  return (uint64_t)last < 16 && !any_i32x16(to_i32x16((u64x16)at > (uint64_t)last));
}
// v at the lanes that `at`, of 0 to 15, says.
INLINE i32x16 permuted_4(i32x16 v, i32x16 at) {
#if defined __AVX512BW__ && defined __clang__
  return (i32x16)__builtin_ia32_permvarsi512(v, at);
#elif defined __AVX512BW__
  return (i32x16)__builtin_ia32_permvarsi512_mask(v, at, v, 0xffff);
#else
  i32x16 out;
  for (int l = 0; l < 16; ++l) out[l] = v[at[l]];
  return out;
#endif
}
