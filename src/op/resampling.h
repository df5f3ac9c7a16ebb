// One dim of a resized image (upsample.cpp): the elements that a result reads, and the results that
// read an element, as kernel expressions.
#pragma once
#include <algorithm>
#include <cmath>
#include <optional>

#include "op/taps.h"

namespace cleave {

enum class ResizeMode { nearest, bilinear };

struct Resampling {
  ResizeMode mode;
  bool corners;
  int64_t in, out;
  double ratio;  // exact in f32 for nearest
  DType t;       // of the weights

  static Resampling linear(bool corners, std::optional<double> scale, int64_t in, int64_t out,
                           DType t) {
    const auto n = static_cast<double>(in), m = static_cast<double>(out);
    double ratio = scale ? 1 / *scale : n / m;
    if (corners) ratio = out > 1 ? (n - 1) / (m - 1) : 0;
    return {ResizeMode::bilinear, corners, in, out, ratio, t};
  }
  static Resampling nearest(std::optional<double> scale, int64_t in, int64_t out, DType t) {
    const float ratio =
        scale ? static_cast<float>(1 / *scale) : static_cast<float>(in) / static_cast<float>(out);
    return {ResizeMode::nearest, false, in, out, ratio, t};
  }

  bool copies() const { return in == out; }
  // In bilinear mode, a copied element is also read with weight 0.
  loop::Expr again() const {
    return mode == ResizeMode::bilinear ? loop::constant(DType::boolean, 1) : loop::Expr();
  }
  bool halves() const { return mode == ResizeMode::nearest && out == 2 * in; }

  loop::Expr nearest_to(const loop::Expr& o) const {
    if (copies()) return o;
    if (halves()) return quotient(o, 2);
    const loop::Expr at = cast(o, DType::f32) * loop::constant(DType::f32, ratio);
    return at_most(cast(unary(loop::Op::floor, at), DType::i64), loop::Expr(in - 1));
  }
  // Computed in f64: in f32 the weights of a 1,000-column image are off by 1e-4, 1,000 roundings.
  loop::Expr position(const loop::Expr& o) const {
    const DType f = DType::f64;
    const loop::Expr v = cast(o, f);
    if (corners) return v * loop::constant(f, ratio);
    const loop::Expr half = loop::constant(f, 0.5);
    return at_least((v + half) * loop::constant(f, ratio) - half, loop::constant(f, 0));
  }
  struct Pair {
    loop::Expr low, fraction;
  };
  Pair pair(loop::KernelBuilder& k, const loop::Expr& o) const {
    const loop::Expr s = k.let(position(o), "s");
    const loop::Expr low = k.let(at_most(cast(s, DType::i64), loop::Expr(in - 1)), "low");
    const loop::Expr f = at_most(s - cast(low, DType::f64), loop::constant(DType::f64, 1));
    return {low, k.let(cast(f, t), "f")};
  }
  loop::Expr high(const loop::Expr& low) const {
    return at_most(low + loop::Expr(1), loop::Expr(in - 1));
  }

  DimTaps reads() const {
    if (mode == ResizeMode::nearest || copies())
      return {1, [r = *this](loop::KernelBuilder&, const loop::Expr& o, const loop::Expr&) {
                return Tap{r.nearest_to(o), {}, {}, r.again()};
              }};
    return {2, [r = *this](loop::KernelBuilder& k, const loop::Expr& o, const loop::Expr& tap) {
              const Pair p = r.pair(k, o);
              if (*tap.as_const_int() == 0)
                return Tap{p.low, loop::constant(r.t, 1) - p.fraction, {}};
              return Tap{r.high(p.low), p.fraction, {}};
            }};
  }

  // The elements [first, last] that result o may read, computed on the host: a position that is
  // nearly a whole number may lie on either side of it in the kernel.
  struct Elements {
    int64_t first, last;
  };
  Elements read(int64_t o) const {
    if (copies()) return {o, o};
    if (halves()) return {o / 2, o / 2};
    const auto clamp = [&](double v) {
      return std::clamp<int64_t>(static_cast<int64_t>(std::floor(v)), 0, in - 1);
    };
    const auto v = static_cast<double>(o);
    if (mode == ResizeMode::nearest) {
      const int64_t at = clamp(static_cast<float>(o) * static_cast<float>(ratio));
      return {at, at};
    }
    const double s = corners ? v * ratio : std::max(0.0, (v + 0.5) * ratio - 0.5);
    const double near = 1e-9 * (1 + s);
    return {clamp(s - near), clamp(s + near + 1)};
  }
  // The results that read element i are among i*out/in + [least, least + count).
  struct Span {
    int64_t least = 0, count = 0;
  };
  Span readers() const {
    int64_t least = 0, most = 0;
    for (int64_t o = 0; o < out; ++o) {
      const Elements e = read(o);
      for (int64_t i = e.first; i <= e.last; ++i) {
        least = std::min(least, o - i * out / in);
        most = std::max(most, o - i * out / in);
      }
    }
    return {least, most - least + 1};
  }
  DimTaps read_by() const {
    const Span span = readers();
    return {
        span.count,
        [r = *this, span](loop::KernelBuilder& k, const loop::Expr& i, const loop::Expr& tap) {
          const loop::Expr o =
              k.let(quotient(i * loop::Expr(r.out), r.in) + loop::Expr(span.least) + tap, "o");
          const loop::Expr at = k.let(clamped(o, r.out), "at"), exists = in_range(o, r.out);
          if (r.mode == ResizeMode::nearest || r.copies())
            return Tap{
                at, {}, both_hold(exists, binary(loop::Op::eq, r.nearest_to(at), i)), r.again()};
          const Pair p = r.pair(k, at);
          const loop::Expr zero = loop::constant(r.t, 0), one = loop::constant(r.t, 1);
          const loop::Expr is_low = k.let(binary(loop::Op::eq, p.low, i), "is_low"),
                           is_high = k.let(binary(loop::Op::eq, r.high(p.low), i), "is_high");
          const loop::Expr weight =
              select(is_low, one - p.fraction, zero) + select(is_high, p.fraction, zero);
          // At the edge both are one element, which is also multiplied by 0 (NaN for infinity).
          const loop::Expr whole = either_holds(binary(loop::Op::eq, p.fraction, zero),
                                                binary(loop::Op::eq, p.fraction, one));
          return Tap{at, weight, both_hold(exists, either_holds(is_low, is_high)),
                     both_hold(both_hold(is_low, is_high), whole)};
        }};
  }
};

}  // namespace cleave
