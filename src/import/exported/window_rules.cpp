// Windows of signals (hann, hamming, blackman, bartlett, kaiser), and the frequencies of their
// transforms.
//
//   of k = 0, 1, ... with  L = window_length, and one more where it is periodic:
//   hamming  alpha - beta cos(2 pi k / (L - 1))     hann: alpha = beta = 1/2
//   blackman 0.42 - 0.5 cos(2 pi k / (L - 1)) + 0.08 cos(4 pi k / (L - 1))
//   bartlett 1 - |2 k / (L - 1) - 1|
//   kaiser   i0(beta sqrt(1 - (2 k / (L - 1) - 1)^2)) / i0(beta)
//
// Computed in f64 and rounded once.
#include <numbers>

#include "import/exported/rules.h"

namespace cleave::exported {
namespace {

using V = ValueId;

constexpr double pi = std::numbers::pi;
constexpr int64_t longest = int64_t{1} << 40;

// `shape` of k and L - 1; a window of one element is 1.
template <class Curve>
Values window(Call& c, const Curve& curve) {
  const int64_t length = c.integer("window_length", 0);
  const DType t = c.dtype("dtype").value_or(DType::f32);
  if (length < 0 || length > longest) return {c.fail("a window of {} elements", length)};
  if (!is_floating(t)) return {c.fail("a window of {}", name_of(t))};
  if (length <= 1)
    return {c.op("full", {}, {{"size", Shape{Dim(length)}}, {"fill_value", 1.0}, {"dtype", t}})};
  const int64_t last = c.flag("periodic", true) ? length : length - 1;
  const V k = c.op("arange", {}, {{"end", length}, {"dtype", DType::f64}});
  return {c.to(curve(k, static_cast<double>(last)), t)};
}

V cosine(Call& c, V k, double turn) { return c.op("cos", {c.op("mul", {k, turn})}); }

Values hamming(Call& c) {
  const bool is_hann = c.node().target.find("hann_window") != std::string::npos;
  const double alpha = c.floating("alpha", is_hann ? 0.5 : 0.54),
               beta = c.floating("beta", is_hann ? 0.5 : 0.46);
  return window(c, [&](V k, double last) {
    return c.op("add", {c.op("mul", {cosine(c, k, 2 * pi / last), -beta}), alpha});
  });
}

Values blackman(Call& c) {
  return window(c, [&](V k, double last) {
    const V once = c.op("mul", {cosine(c, k, 2 * pi / last), -0.5});
    const V twice = c.op("mul", {cosine(c, k, 4 * pi / last), 0.08});
    return c.op("add", {c.op("add", {once, twice}), 0.42});
  });
}

// From -1 to 1.
V from_middle(Call& c, V k, double last) {
  return c.op("sub", {c.op("div", {c.op("mul", {k, 2.0}), last}), 1.0});
}

Values bartlett(Call& c) {
  return window(c, [&](V k, double last) {
    return c.op("rsub", {c.op("abs", {from_middle(c, k, last)}), 1.0});
  });
}

Values kaiser(Call& c) {
  const double beta = c.floating("beta", 12.0);
  return window(c, [&](V k, double last) {
    const V x = from_middle(c, k, last);
    const V inside = c.op("clamp", {c.op("rsub", {c.op("mul", {x, x}), 1.0}), 0.0});
    const V y = c.op("i0", {c.op("mul", {c.op("sqrt", {inside}), beta})});
    const V whole = c.op(
        "i0", {c.op("full", {}, {{"size", Shape{}}, {"fill_value", beta}, {"dtype", DType::f64}})});
    return c.op("div", {y, whole});
  });
}

// k / (n d) of k from 0; in the second half of k - n, unless only the first is asked for.
Values frequencies(Call& c, bool is_half) {
  const int64_t n = c.integer("n", 1);
  if (n < 1 || n > longest) return {c.fail("frequencies of a transform of length {}", n)};
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
      {"hann_window", hamming},
      {"hamming_window", hamming},
      {"blackman_window", blackman},
      {"bartlett_window", bartlett},
      {"kaiser_window", kaiser},
      {"fft_fftfreq", [](Call& c) { return frequencies(c, false); }},
      {"fft_rfftfreq", [](Call& c) { return frequencies(c, true); }},
  };
  return rows;
}

}  // namespace cleave::exported
