// Windows of signals, and the frequencies of their transforms.
//
//   hann       (1 - cos(2 pi k / n)) / 2     n is the number of elements where it is periodic, as
//   hamming    alpha - beta cos(2 pi k / n)  it is unless the file says otherwise, else one less
//   blackman   0.42 - 0.5 cos(2 pi k / n) + 0.08 cos(4 pi k / n)
//   bartlett   1 - |2 k / n - 1|
//   kaiser     I0(beta sqrt(1 - (2 k / n - 1)^2)) / I0(beta)
#include <cmath>
#include <numbers>

#include "import/exported/rules.h"

namespace cleave::exported {
namespace {

using V = ValueId;

// k times a factor, for each place of the window; a window of one element is 1.
struct Places {
  V k;
  double n = 1;
  DType t = DType::f32;
  bool is_single = false;
};

Places places_of(Call& c) {
  Places p;
  const int64_t length = c.integer("window_length", 0);
  p.t = c.dtype("dtype").value_or(DType::f32);
  if (length < 0 || !is_floating(p.t)) c.fail("a window of {} elements", length);
  p.is_single = length == 1;
  p.n = static_cast<double>(c.flag("periodic", true) ? length : length - 1);
  p.k = c.op("arange", {}, {{"end", length}, {"dtype", DType::f64}});
  return p;
}

// first - second cos(2 pi k / n) + third cos(4 pi k / n)
Values cosines(Call& c, double first, double second, double third) {
  const Places p = places_of(c);
  const auto cosine = [&](double turns, double factor) {
    const V angle = c.op("mul", {p.k, turns * 2 * std::numbers::pi / p.n});
    return c.op("mul", {c.op("cos", {angle}), factor});
  };
  if (p.is_single) return {c.to(c.op("ones_like", {p.k}), p.t)};
  V y = c.op("add", {cosine(1, -second), first});
  if (third != 0) y = c.op("add", {y, cosine(2, third)});
  return {c.to(y, p.t)};
}

Values hamming(Call& c) {
  return cosines(c, c.floating("alpha", 0.54), c.floating("beta", 0.46), 0);
}

// 2 k / n - 1
V from_middle(Call& c, const Places& p) { return c.op("sub", {c.op("mul", {p.k, 2 / p.n}), 1.0}); }

Values bartlett(Call& c) {
  const Places p = places_of(c);
  if (p.is_single) return {c.to(c.op("ones_like", {p.k}), p.t)};
  return {c.to(c.op("rsub", {c.op("abs", {from_middle(c, p)}), 1.0}), p.t)};
}

Values kaiser(Call& c) {
  const Places p = places_of(c);
  const double beta = c.floating("beta", 12);
  if (p.is_single) return {c.to(c.op("ones_like", {p.k}), p.t)};
  const V x = from_middle(c, p);
  const V inside = c.op("clamp", {c.op("rsub", {c.op("mul", {x, x}), 1.0}), 0.0});
  const V y = c.op("i0", {c.op("mul", {c.op("sqrt", {inside}), beta})});
  const V most = c.op(
      "i0", {c.op("full", {}, {{"size", Shape{}}, {"fill_value", beta}, {"dtype", DType::f64}})});
  return {c.to(c.op("div", {y, most}), p.t)};
}

// k / (n d) of k from 0; in the second half of k - n, unless only the first is asked for.
Values frequencies(Call& c, bool is_half) {
  const int64_t n = c.integer("n", 1);
  if (n < 1) return {c.fail("frequencies of a transform of length {}", n)};
  const int64_t above = (n + 1) / 2;
  const double step = 1 / (static_cast<double>(n) * c.floating("d", 1));
  V k = c.op("arange", {}, {{"end", is_half ? n / 2 + 1 : n}, {"dtype", DType::f64}});
  if (!is_half)
    k = c.op("where", {c.op("lt", {k, CallOperand(AttrValue(above))}), k,
                       c.op("sub", {k, CallOperand(AttrValue(n))})});
  return {c.to(c.op("mul", {k, step}), c.dtype("dtype").value_or(DType::f32))};
}

}  // namespace

std::span<const RuleRow> window_rules() {
  static constexpr RuleRow rows[] = {
      {"hann_window", [](Call& c) { return cosines(c, 0.5, 0.5, 0); }},
      {"hamming_window", hamming},
      {"blackman_window", [](Call& c) { return cosines(c, 0.42, 0.5, 0.08); }},
      {"bartlett_window", bartlett},
      {"kaiser_window", kaiser},
      {"fft_fftfreq", [](Call& c) { return frequencies(c, false); }},
      {"fft_rfftfreq", [](Call& c) { return frequencies(c, true); }},
  };
  return rows;
}

}  // namespace cleave::exported
