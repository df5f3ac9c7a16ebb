// Types in memory, the types that they are summed in, and the way from one to the other.
//
//   f64 f32       summed as they are, long sums of f32 in spans that are added up in f64
//   bf16 f16      summed in f32, rounded once
//   integers      wrap around: summed in unsigned numbers of 64 bits (i64) or 32
#pragma once
#include "backend/cuda/device/arguments.h"
#include "backend/cuda/device/machine.h"

namespace cleave::cuda::device {

using f64 = double;
using f32 = float;
struct bf16 {
  unsigned short bits;
};
struct f16 {
  unsigned short bits;
};
using i64 = long long;
using i32 = int;
using i16 = short;
using i8 = signed char;
using u8 = unsigned char;

template <class T>
struct Sums {
  using type = unsigned;
  using total = unsigned;  // of spans
};
template <>
struct Sums<f64> {
  using type = double;
  using total = double;
};
template <>
struct Sums<f32> {
  using type = float;
  using total = double;
};
template <>
struct Sums<bf16> : Sums<f32> {};
template <>
struct Sums<f16> : Sums<f32> {};
template <>
struct Sums<i64> {
  using type = unsigned long long;
  using total = unsigned long long;
};
constexpr Int span = 2048;  // terms that are summed in Sums::type before they go into Sums::total

CLEAVE_DEVICE unsigned multiply_add(unsigned a, unsigned b, unsigned c) { return a * b + c; }
CLEAVE_DEVICE unsigned long long multiply_add(unsigned long long a, unsigned long long b,
                                              unsigned long long c) {
  return a * b + c;
}

// Numbers as f32 or f64.
template <class T>
CLEAVE_DEVICE float wide(T x) {
  return static_cast<float>(x);
}
CLEAVE_DEVICE double wide(double x) { return x; }
CLEAVE_DEVICE float wide(bf16 x) { return f32_of_bits(static_cast<unsigned>(x.bits) << 16); }
CLEAVE_DEVICE float wide(f16 x) { return f32_of_f16(x.bits); }

// Rounded to a type in memory.
template <class T>
struct Narrow {
  template <class S>
  CLEAVE_DEVICE static T of(S x) {
    return static_cast<T>(x);
  }
};
template <>
struct Narrow<bf16> {
  CLEAVE_DEVICE static bf16 of(float x) {
    const unsigned word = bits_of_f32(x);
    const bool is_nan = (word & 0x7fffffffu) > 0x7f800000u;
    const unsigned up = word + 0x7fffu + ((word >> 16) & 1u);
    return {static_cast<unsigned short>((is_nan ? word | 0x00400000u : up) >> 16)};
  }
};
template <>
struct Narrow<f16> {
  CLEAVE_DEVICE static f16 of(float x) { return {f16_of_f32(x)}; }
};

template <class T>
constexpr bool is_integer = false;
template <>
inline constexpr bool is_integer<i64> = true;
template <>
inline constexpr bool is_integer<i32> = true;
template <>
inline constexpr bool is_integer<i16> = true;
template <>
inline constexpr bool is_integer<i8> = true;
template <>
inline constexpr bool is_integer<u8> = true;

template <class T>
constexpr bool is_half = false;
template <>
inline constexpr bool is_half<bf16> = true;
template <>
inline constexpr bool is_half<f16> = true;

template <class X>
constexpr bool is_f32 = false;
template <>
inline constexpr bool is_f32<f32> = true;

// A number that is stored as X for a product in T, as it is summed: what a cast to T gives.
template <class T, class X>
CLEAVE_DEVICE typename Sums<T>::type term(X x) {
  if constexpr (is_integer<T>)
    return static_cast<typename Sums<T>::type>(x);
  else if constexpr (is_half<T> && is_f32<X>)
    return wide(Narrow<T>::of(x));
  else
    return wide(x);
}
template <class T, class X>
CLEAVE_DEVICE T cast(X x) {
  return Narrow<T>::of(term<T>(x));
}

}  // namespace cleave::cuda::device
