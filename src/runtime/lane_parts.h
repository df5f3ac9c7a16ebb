// The lane types of gcc where the target's registers are shorter than 64 bytes, as C++17: pairs of
// halves down to vectors of one register, with operators and functions half by half. (As one vector
// longer than a register gcc keeps the lanes in memory and computes element by element.)
//
//   f32x16 with AVX2    Pair{f32x8, f32x8}
//   f32x16 with SSE     Pair{Pair{f32x4, f32x4}, Pair{f32x4, f32x4}}
//
// A part is a vector that fits a register: GCC's own vector type. The text of the kernels follows
// (src/emit), in extern "C"; __builtin_convertvector, __builtin_shufflevector and __builtin_memcpy
// in it are those below, and lane_part_functions.h has what its primitives call.
#pragma once

namespace cleave::runtime {

inline constexpr char lane_parts[] = R"clv(
#define LANE_PARTS 1
#define ALWAYS inline __attribute__((always_inline))
#define restrict __restrict__

#ifdef __AVX2__
constexpr unsigned long part_bytes = 32;
#define X86(name) __builtin_ia32_##name##256
#else
constexpr unsigned long part_bytes = 16;
#define X86(name) __builtin_ia32_##name
#endif

// ---- types
template <class T, int N> struct Vector {
  typedef T type __attribute__((vector_size(N * sizeof(T))));
};
template <class T, int N> using Part = typename Vector<T, N>::type;
template <class T, int N> struct Pair;
template <class T, int N, bool fits> struct LanesOf { typedef Pair<T, N> type; };
template <class T, int N> struct LanesOf<T, N, true> { typedef Part<T, N> type; };
template <class T, int N>
using Lanes = typename LanesOf<T, N, (N * sizeof(T) <= part_bytes)>::type;

template <int bytes> struct IntOf;
template <> struct IntOf<1> { typedef signed char type; };
template <> struct IntOf<2> { typedef short type; };
template <> struct IntOf<4> { typedef int type; };
template <> struct IntOf<8> { typedef long type; };
template <class T> using Int = typename IntOf<sizeof(T)>::type;
template <int...> struct Numbers {};

template <class T, int N>
struct Pair {
  typedef Lanes<T, N / 2> Half;
  typedef Lanes<Int<T>, N> Truth;
  Half low, high;

  // The same bits.
  template <class U, int M>
  ALWAYS explicit operator Pair<U, M>() const {
    static_assert(M * sizeof(U) == N * sizeof(T), "");
    typedef typename Pair<U, M>::Half To;
    return {(To)low, (To)high};
  }
  ALWAYS T &operator[](long l) { return ((T *)this)[l]; }
  ALWAYS T operator[](long l) const {
    if (__builtin_constant_p(l)) return l < N / 2 ? low[l & (N / 2 - 1)] : high[l & (N / 2 - 1)];
    return ((const T *)this)[l];
  }
#define INFIX(R, op)                                                                              \
  friend ALWAYS R operator op(const Pair &a, const Pair &b) {                                     \
    return {a.low op b.low, a.high op b.high};                                                    \
  }                                                                                               \
  friend ALWAYS R operator op(const Pair &a, T b) { return {a.low op b, a.high op b}; }           \
  friend ALWAYS R operator op(T a, const Pair &b) { return {a op b.low, a op b.high}; }
  INFIX(Pair, +) INFIX(Pair, -) INFIX(Pair, *) INFIX(Pair, /)
  INFIX(Pair, &) INFIX(Pair, |) INFIX(Pair, ^) INFIX(Pair, <<) INFIX(Pair, >>)
  INFIX(Truth, ==) INFIX(Truth, !=)
  INFIX(Truth, <) INFIX(Truth, <=) INFIX(Truth, >) INFIX(Truth, >=)
#undef INFIX
  ALWAYS Pair operator-() const { return {-low, -high}; }
  ALWAYS Pair operator~() const { return {~low, ~high}; }
};

// ---- what types are
template <class V> struct Shape {  // of a part
  template <class T> struct Plain { typedef T type; };
  template <class T> struct Plain<T &> { typedef T type; };
  template <class T> struct Plain<const T &> { typedef T type; };
  static V value;
  typedef typename Plain<decltype((value[0]))>::type Element;
  static constexpr int lanes = sizeof(V) / sizeof(Element);
  static constexpr bool is_part = true;
};
template <class T, int N> struct Shape<Pair<T, N>> {
  typedef T Element;
  static constexpr int lanes = N;
  static constexpr bool is_part = false;
};
template <class V> constexpr bool is_part = Shape<V>::is_part;
template <class V> constexpr int lanes_of = Shape<V>::lanes;
template <class V> using Element = typename Shape<V>::Element;
template <class V> using HalfOf = Lanes<Element<V>, lanes_of<V> / 2>;
template <class A, class B> constexpr bool is_same = false;
template <class A> constexpr bool is_same<A, A> = true;
template <class T> constexpr bool is_real = is_same<T, float> || is_same<T, double>;

// ---- halves
template <int from, int step, class V, int... I>
ALWAYS auto picked(V a, V b, Numbers<I...>) {
  return __builtin_shufflevector(a, b, (from + step * I)...);
}
template <class V> ALWAYS HalfOf<V> low_half(V v) {
  if constexpr (is_part<V>)
    return picked<0, 1>(v, v, Numbers<__integer_pack(lanes_of<V> / 2)...>());
  else return v.low;
}
template <class V> ALWAYS HalfOf<V> high_half(V v) {
  if constexpr (is_part<V>)
    return picked<lanes_of<V> / 2, 1>(v, v, Numbers<__integer_pack(lanes_of<V> / 2)...>());
  else return v.high;
}
template <class V> ALWAYS V joined(HalfOf<V> low, HalfOf<V> high) {
  if constexpr (is_part<V>)
    return picked<0, 1>(low, high, Numbers<__integer_pack(lanes_of<V>)...>());
  else return {low, high};
}

// ---- conversions
// gcc 12 makes two halves of those that AVX2 has as one instruction.
template <class R, class V> ALWAYS R converted_part(V v) {
#ifdef __AVX2__
  typedef Element<R> To;
  typedef Element<V> From;
  constexpr bool is_signed = From(-1) < From(0), to_real = is_real<To>, real = is_real<From>;
  if constexpr (sizeof(R) == 32 && sizeof(V) == 16) {
    if constexpr (real && to_real) return (R)__builtin_ia32_cvtps2pd256((Part<float, 4>)v);
    else if constexpr (is_same<From, int> && to_real)
      return (R)__builtin_ia32_cvtdq2pd256((Part<int, 4>)v);
    else if constexpr (!real && !to_real && sizeof(From) == 4)
      return is_signed ? (R)__builtin_ia32_pmovsxdq256((Part<int, 4>)v)
                       : (R)__builtin_ia32_pmovzxdq256((Part<int, 4>)v);
    else if constexpr (!real && !to_real && sizeof(From) == 2)
      return is_signed ? (R)__builtin_ia32_pmovsxwd256((Part<short, 8>)v)
                       : (R)__builtin_ia32_pmovzxwd256((Part<short, 8>)v);
    else if constexpr (!real && !to_real)
      return is_signed ? (R)__builtin_ia32_pmovsxbw256((Part<char, 16>)v)
                       : (R)__builtin_ia32_pmovzxbw256((Part<char, 16>)v);
    else return __builtin_convertvector(v, R);
  } else if constexpr (sizeof(R) == 16 && sizeof(V) == 32 && real) {
    if constexpr (to_real) return (R)__builtin_ia32_cvtpd2ps256((Part<double, 4>)v);
    else if constexpr (is_same<To, int>) return (R)__builtin_ia32_cvttpd2dq256((Part<double, 4>)v);
    else return __builtin_convertvector(v, R);
  } else {
    return __builtin_convertvector(v, R);
  }
#else
  return __builtin_convertvector(v, R);
#endif
}
template <class R, class V> ALWAYS R converted(const V &v) {
  typedef Element<R> To;
  typedef Element<V> From;
  constexpr int n = lanes_of<V>;
  constexpr bool whole = !is_real<To> && !is_real<From>;
  if constexpr (sizeof(To) == sizeof(From) && whole) {
    return (R)v;
  } else if constexpr (whole && sizeof(From) > 2 * sizeof(To)) {
    return converted<R>(converted<Lanes<typename IntOf<sizeof(From) / 2>::type, n>>(v));
  } else if constexpr (whole && sizeof(To) > 2 * sizeof(From)) {
    if constexpr (From(-1) < From(0))
      return converted<R>(converted<Lanes<typename IntOf<sizeof(From) * 2>::type, n>>(v));
    else if constexpr (sizeof(From) == 1)
      return converted<R>(converted<Lanes<unsigned short, n>>(v));
    else
      return converted<R>(converted<Lanes<unsigned, n>>(v));
  } else if constexpr (whole && sizeof(From) > sizeof(To) && is_part<R> && !is_part<V> &&
                       is_part<HalfOf<V>>) {
    // The even elements of two registers.
    return picked<0, 2>((R)v.low, (R)v.high, Numbers<__integer_pack(n)...>());
  } else if constexpr (is_part<R> && is_part<V>) {
    return converted_part<R>(v);
  } else {
    return joined<R>(converted<HalfOf<R>>(low_half(v)), converted<HalfOf<R>>(high_half(v)));
  }
}
#define __builtin_convertvector(v, R) converted<R>(v)

// ---- permutations by constants
template <int k, class V> ALWAYS auto part(const V &v) {
  if constexpr (is_part<V>) {
    return v;
  } else {
    constexpr int half = sizeof(V) / part_bytes / 2;
    if constexpr (k < half) return part<k>(v.low);
    else return part<k - half>(v.high);
  }
}
template <class R, int number, int... index> struct Permuted {
  static constexpr int at[sizeof...(index)] = {index...};
  static constexpr int n = lanes_of<R>, first = at[number * n] / n;
  static constexpr int second() {
    for (int l = 0; l < n; ++l)
      if (at[number * n + l] / n != first) return at[number * n + l] / n;
    return first;
  }
  static constexpr int place(int l) {
    const int i = at[number * n + l];
    return i / n == first ? i % n : n + i % n;
  }
  template <int... L> static ALWAYS R of(R a, R b, Numbers<L...>) {
    return __builtin_shufflevector(a, b, place(L)...);
  }
};
// Part `number` of the result on; each part comes from two parts of a and b.
template <class R, int number, class V, int... index>
ALWAYS R permuted(const V &a, const V &b, Numbers<index...> all) {
  if constexpr (is_part<R>) {
    typedef Permuted<R, number, index...> P;
    constexpr int parts = sizeof(V) / sizeof(R), p = P::first, q = P::second();
    return P::of(part<p % parts>(p < parts ? a : b), part<q % parts>(q < parts ? a : b),
                 Numbers<__integer_pack(lanes_of<R>)...>());
  } else {
    typedef HalfOf<R> Half;
    constexpr int half = sizeof(Half) / part_bytes;
    return {permuted<Half, number>(a, b, all), permuted<Half, number + half>(a, b, all)};
  }
}
template <int... index, class V> ALWAYS V shuffled(const V &a, const V &b) {
  return permuted<V, 0>(a, b, Numbers<index...>());
}
#define __builtin_shufflevector(a, b, ...) shuffled<__VA_ARGS__>(a, b)

// ---- memory
template <class V> constexpr bool is_pair = false;
template <class T, int N> constexpr bool is_pair<Pair<T, N>> = true;
template <class T> struct Anywhere {
  typedef T type __attribute__((vector_size(part_bytes), aligned(1)));
};
template <class T, int n> ALWAYS void copy_parts(char *to, const char *from) {
  typedef typename Anywhere<T>::type Whole;
  *(Whole *)to = *(const Whole *)from;
  if constexpr (n > 1) copy_parts<T, n - 1>(to + part_bytes, from + part_bytes);
}
template <class A, class B> struct OneOf { typedef B type; };
template <class T, int N, class B> struct OneOf<Pair<T, N>, B> { typedef Pair<T, N> type; };
template <class A, class B> using ElementOf = Element<typename OneOf<A, B>::type>;
// Whole lanes part by part: as bytes gcc would copy them by way of the stack.
template <class A, class B> ALWAYS void copy_bytes(A *to, const B *from, unsigned long n) {
  constexpr unsigned long whole = is_pair<A> && sizeof(A) >= sizeof(B) ? sizeof(A)
                                  : is_pair<B>                         ? sizeof(B)
                                  : is_pair<A>                         ? sizeof(A)
                                                                       : 0;
  if constexpr (whole != 0)
    if (__builtin_constant_p(n) && n == whole)
      return copy_parts<ElementOf<A, B>, whole / part_bytes>((char *)to,
                                                                           (const char *)from);
  __builtin_memcpy(to, from, n);
}
// Of 16 elements the first ones; the other lanes are 0. What follows isn't made twice, for the tail
// and for whole lanes, as gcc doesn't see where they come from.
template <class V> ALWAYS void hide_origin(V &v) {
  if constexpr (!is_part<V>) hide_origin(v.low), hide_origin(v.high);
#ifdef __aarch64__
  else asm("" : "+w"(v));
#else
  else asm("" : "+x"(v));
#endif
}
template <class V> ALWAYS V first_lanes(const void *p, long left) {
  V v;
  if (left >= 16) {
    copy_bytes(&v, p, sizeof v);
  } else {
    V tail = {};
    if (left > 0) __builtin_memcpy(&tail, p, left * sizeof(Element<V>));
    v = tail;
  }
  hide_origin(v);
  return v;
}
template <class V> ALWAYS void put_first_lanes(void *p, const V &v, long left) {
  if (left >= 16) {
    copy_bytes(p, &v, sizeof v);
  } else if (left > 0) {
    const V tail = v;  // v itself stays in registers
    __builtin_memcpy(p, &tail, left * sizeof(Element<V>));
  }
}
#define __builtin_memcpy(to, from, n) copy_bytes(to, from, n)
)clv";

}  // namespace cleave::runtime
