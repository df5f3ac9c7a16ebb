// What src/emit/primitives.h calls on lanes in parts (LANE_PARTS), one instruction or a few for
// each part. Follows lane_parts.h; the text of the kernels and a closing brace follow.
#pragma once

namespace cleave::runtime {

inline constexpr char lane_part_functions[] = R"clv(
// ---- functions of the primitives, part by part
#define BY_PARTS(f)                                                                               \
  template <class T, int N> ALWAYS Pair<T, N> f(const Pair<T, N> &v) {                            \
    return {f(v.low), f(v.high)};                                                                 \
  }
#define BY_PARTS_2(f)                                                                             \
  template <class T, int N> ALWAYS Pair<T, N> f(const Pair<T, N> &a, const Pair<T, N> &b) {       \
    return {f(a.low, b.low), f(a.high, b.high)};                                                  \
  }
#define FUNCTION(f, single, real)                                                                 \
  ALWAYS floats f(floats v) { return single; }                                                    \
  ALWAYS doubles f(doubles v) { return real; }                                                    \
  BY_PARTS(f)
#define FUNCTION_2(f, single, real)                                                               \
  ALWAYS floats f(floats a, floats b) { return single; }                                          \
  ALWAYS doubles f(doubles a, doubles b) { return real; }                                         \
  BY_PARTS_2(f)
typedef Part<float, part_bytes / 4> floats;
typedef Part<double, part_bytes / 8> doubles;

// c ? a : b, where lanes of c are 0 or -1.
template <class C, class V> ALWAYS V chosen_part(C c, V a, V b) {
#ifdef __SSE4_1__
  if constexpr (sizeof(Element<V>) == 4)
    return (V)X86(blendvps)((floats)b, (floats)a, (floats)c);
  else return (V)X86(blendvpd)((doubles)b, (doubles)a, (doubles)c);
#else
  return (V)((((C)a ^ (C)b) & c) ^ (C)b);
#endif
}
template <class C, class V> ALWAYS V chosen(const C &c, const V &a, const V &b) {
  if constexpr (is_part<V>) return chosen_part(c, a, b);
  else return {chosen(c.low, a.low, b.low), chosen(c.high, a.high, b.high)};
}

#ifdef __SSE4_1__
FUNCTION(sqrt_lanes, X86(sqrtps)(v), X86(sqrtpd)(v))
FUNCTION(floor_lanes, X86(roundps)(v, 9), X86(roundpd)(v, 9))
FUNCTION(ceil_lanes, X86(roundps)(v, 10), X86(roundpd)(v, 10))
FUNCTION(trunc_lanes, X86(roundps)(v, 11), X86(roundpd)(v, 11))
FUNCTION(rint_lanes, X86(roundps)(v, 4), X86(roundpd)(v, 4))
FUNCTION_2(smaller_lanes, X86(minps)(a, b), X86(minpd)(a, b))
FUNCTION_2(larger_lanes, X86(maxps)(a, b), X86(maxpd)(a, b))
#else
FUNCTION(sqrt_lanes, __builtin_aarch64_sqrtv4sf(v), __builtin_aarch64_sqrtv2df(v))
FUNCTION(floor_lanes, __builtin_aarch64_floorv4sf(v), __builtin_aarch64_floorv2df(v))
FUNCTION(ceil_lanes, __builtin_aarch64_ceilv4sf(v), __builtin_aarch64_ceilv2df(v))
FUNCTION(trunc_lanes, __builtin_aarch64_btruncv4sf(v), __builtin_aarch64_btruncv2df(v))
FUNCTION(rint_lanes, __builtin_aarch64_rintv4sf(v), __builtin_aarch64_rintv2df(v))
FUNCTION_2(smaller_lanes, chosen(a < b, a, b), chosen(a < b, a, b))
FUNCTION_2(larger_lanes, chosen(a > b, a, b), chosen(a > b, a, b))
#endif

#if defined __FMA__ || defined __aarch64__
#define FMA ALWAYS
#else
#define FMA static __attribute__((noinline))  // calls of fmaf and fma
#endif
FMA floats fma_part(floats a, floats b, floats c) {
#ifdef __FMA__
  return X86(vfmaddps)(a, b, c);
#elif defined __aarch64__
  return __builtin_aarch64_fmav4sf(a, b, c);
#else
  for (int l = 0; l < lanes_of<floats>; ++l) a[l] = __builtin_fmaf(a[l], b[l], c[l]);
  return a;
#endif
}
FMA doubles fma_part(doubles a, doubles b, doubles c) {
#ifdef __FMA__
  return X86(vfmaddpd)(a, b, c);
#elif defined __aarch64__
  return __builtin_aarch64_fmav2df(a, b, c);
#else
  for (int l = 0; l < lanes_of<doubles>; ++l) a[l] = __builtin_fma(a[l], b[l], c[l]);
  return a;
#endif
}
template <class V> ALWAYS V fma_lanes(const V &a, const V &b, const V &c) {
  if constexpr (is_part<V>) return fma_part(a, b, c);
  else
    return {fma_lanes(a.low, b.low, c.low), fma_lanes(a.high, b.high, c.high)};
}

// ---- truth values
template <class V> ALWAYS auto both_of(const V &v) {  // lanes of halves, down to a part
  if constexpr (is_part<V>) return v;
  else return both_of(v.low & v.high);
}
template <class V> ALWAYS auto either_of(const V &v) {
  if constexpr (is_part<V>) return v;
  else return either_of(v.low | v.high);
}
template <class V> ALWAYS int all_on(const V &v) {
#ifdef __AVX2__
  return __builtin_ia32_movmskps256((floats)both_of(v)) == 0xff;
#else
  const auto both = (Part<long, 2>)both_of(v);
  return (both[0] & both[1]) == -1;
#endif
}
// Bit l is lane l.
template <class V> ALWAYS unsigned bits_of_lanes(const V &on) {
  const Pair<int, 16> weights = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192,
                                 16384, 32768};
  const auto bits = either_of(on & weights);
  unsigned all = 0;
  for (int l = 0; l < lanes_of<decltype(bits)>; ++l) all |= (unsigned)bits[l];
  return all;
}

// table[k] where k are the lowest four bits.
#ifndef __AVX2__
typedef Part<int, 4> ints;
typedef Part<unsigned char, 16> bytes;
ALWAYS floats of_16_lanes(const Pair<float, 16> &table, ints at) {
#ifdef __SSE4_1__
  typedef Part<char, 16> chars;
  const chars index = (chars)((at & 3) * 0x04040404 + 0x03020100);
  const auto of = [&](floats quarter) {
    return (floats)__builtin_ia32_pshufb128((chars)quarter, index);
  };
  const floats odd = (floats)(at << 29), upper = (floats)(at << 28);
  return chosen(upper, chosen(odd, of(table.high.high), of(table.high.low)),
                chosen(odd, of(table.low.high), of(table.low.low)));
#else
  const bytes index = (bytes)((at & 7) * 0x04040404 + 0x03020100);
  const auto of = [&](const Pair<float, 8> &half) {
    return (floats)__builtin_shuffle((bytes)half.low, (bytes)half.high, index);
  };
  return chosen(at << 28 >> 31, of(table.high), of(table.low));
#endif
}
template <int N>
ALWAYS Pair<float, N> of_16_lanes(const Pair<float, 16> &table, const Pair<int, N> &at) {
  return {of_16_lanes(table, at.low), of_16_lanes(table, at.high)};
}
#endif
#define __builtin_elementwise_fma fma_lanes
#define __builtin_elementwise_sqrt sqrt_lanes
#define __builtin_elementwise_floor floor_lanes
#define __builtin_elementwise_ceil ceil_lanes
#define __builtin_elementwise_trunc trunc_lanes
#define __builtin_elementwise_rint rint_lanes
extern "C" {
)clv";

}  // namespace cleave::runtime
