// Fourier transforms, as products with matrices of cosines and sines; windows; mel weights.
//
//   X[k] = sum_n x[n] exp(-2 pi i k n / L)      re = x_re C + x_im S,  im = x_im C - x_re S
//
// The inverse has the other sign and divides by L. onesided keeps k <= L / 2; the inverse of that
// counts each inner k twice.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "import/onnx/rules.h"

namespace cleave::onnx {
namespace {

constexpr int64_t longest = 4096;  // of a transform: a matrix of 2^24 numbers

struct Complex {
  V re, im = V::none();  // none: zeros
};

// exp(-2 pi i k n / length), rows n, columns k, one factor for each row.
struct Waves {
  V cos, sin;
};
Waves waves(Call& c, int64_t rows, int64_t columns, int64_t length, DType t,
            double (*factor)(int64_t, int64_t)) {
  std::vector<double> cosines, sines;
  for (int64_t n = 0; n < rows; ++n)
    for (int64_t k = 0; k < columns; ++k) {
      const double angle =
          2 * std::numbers::pi * static_cast<double>(n * k % length) / static_cast<double>(length);
      cosines.push_back(std::cos(angle) * factor(n, length));
      sines.push_back(std::sin(angle) * factor(n, length));
    }
  return {c.floats("cosines", cosines, {rows, columns}, t),
          c.floats("sines", sines, {rows, columns}, t)};
}

double one(int64_t, int64_t) { return 1; }
double by_length(int64_t, int64_t length) { return 1 / static_cast<double>(length); }
double both_sides(int64_t k, int64_t length) {
  const bool single = k == 0 || 2 * k == length;
  return (single ? 1 : 2) / static_cast<double>(length);
}

// Along the last dim, of a length that the matrices have.
Complex transformed(Call& c, Complex x, const Waves& w, bool inverse) {
  const auto product = [&](V v, V m) { return c.matmul(v, m); };
  const V re_cos = product(x.re, w.cos), re_sin = product(x.re, w.sin);
  if (!x.im.valid()) return {re_cos, inverse ? re_sin : c.op("neg", {re_sin})};
  const V im_cos = product(x.im, w.cos), im_sin = product(x.im, w.sin);
  if (inverse) return {c.sub(re_cos, im_sin), c.add(im_cos, re_sin)};
  return {c.add(re_cos, im_sin), c.sub(im_cos, re_sin)};
}

// The last dim cut or filled with zeros.
V of_length(Call& c, V x, int64_t length) {
  if (!x.valid()) return x;
  const Dim n = c.shape(x).back();
  if (!n.is_const() || n.value() == length) return x;
  if (n.value() > length) return c.slice(x, -1, 0, length);
  return c.op("constant_pad_nd", {x}, {{"pad", Ints{0, length - n.value()}}});
}

// x[..., 1 or 2], an axis of it transformed.
Status dft(Call& c) {
  CLEAVE_TRY(const Ints sizes, c.sizes(0));
  const int64_t rank = static_cast<int64_t>(sizes.size());
  if (rank < 2 || (sizes.back() != 1 && sizes.back() != 2))
    return user_error("the last dim is the real or the complex number");
  int64_t axis = c.integer("axis", 1);
  if (c.version() >= 20) {
    axis = -2;
    if (c.has(2)) {
      CLEAVE_TRY(const Ints given, c.ints(2, "axis"));
      if (given.size() != 1) return user_error("axis has {} numbers", given.size());
      axis = given[0];
    }
  }
  CLEAVE_TRY(axis, c.axis(axis, rank));
  if (axis == rank - 1) return user_error("the axis is the complex number's");
  const bool inverse = c.integer("inverse") != 0, onesided = c.integer("onesided") != 0;
  int64_t length = sizes[static_cast<size_t>(axis)];
  if (inverse && onesided) length = 2 * (length - 1);
  if (c.has(1)) {
    CLEAVE_TRY(const Ints given, c.ints(1, "dft_length"));
    if (given.size() != 1) return user_error("dft_length has {} numbers", given.size());
    length = given[0];
  }
  if (length < 1 || length > longest) return unsupported("a transform of length {}", length);
  const DType t = c.dtype(0);
  const V x = c.in(0);
  const auto part = [&](int64_t k) {
    return c.op("transpose", {c.select(x, rank - 1, k)}, {{"dim0", axis}, {"dim1", rank - 2}});
  };
  Complex z{part(0), sizes.back() == 2 ? part(1) : V::none()};
  const int64_t half = length / 2 + 1;
  if (!c.status().ok()) return {};
  const auto back = [&](V v) {
    return c.op("transpose", {v}, {{"dim0", axis}, {"dim1", rank - 2}});
  };
  if (inverse && onesided) {
    z.re = of_length(c, z.re, half);
    z.im = of_length(c, z.im, half);
    const Complex y = transformed(c, z, waves(c, half, length, length, t, both_sides), true);
    c.give(0, c.unsqueeze(back(y.re), rank - 1), c.element(0));
    return {};
  }
  z.re = of_length(c, z.re, length);
  z.im = of_length(c, z.im, length);
  const Complex y = transformed(
      c, z, waves(c, length, onesided ? half : length, length, t, inverse ? by_length : one),
      inverse);
  c.give(0, c.op("stack", {CallOperand(Values{back(y.re), back(y.im)})}, {{"dim", rank - 1}}),
         c.element(0));
  return {};
}

// Frames of a signal [b, n, 1 or 2], each under the window and transformed.
Status stft(Call& c) {
  CLEAVE_TRY(const Ints sizes, c.sizes(0));
  CLEAVE_TRY(const Ints step, c.ints(1, "frame_step"));
  if ((sizes.size() != 3 && sizes.size() != 2) || step.size() != 1 || step[0] < 1)
    return user_error("expected a signal of 3 dims and a step");
  int64_t length = sizes[1];
  if (c.has(2)) {
    CLEAVE_TRY(const Ints window, c.sizes(2));
    if (window.size() == 1) length = window[0];
  }
  if (c.has(3)) {
    CLEAVE_TRY(const Ints given, c.ints(3, "frame_length"));
    if (given.size() == 1) length = given[0];
  }
  if (length < 1 || length > longest || length > sizes[1])
    return unsupported("frames of length {}", length);
  const V x = c.in(0);
  const auto frames = [&](int64_t k) {
    const V signal = sizes.size() == 3 ? c.select(x, 2, k) : x;
    V f = c.op("unfold", {signal}, {{"dimension", 1}, {"size", length}, {"step", step[0]}});
    return c.has(2) ? c.mul(f, c.in(2)) : f;
  };
  Complex z{frames(0), sizes.size() == 3 && sizes[2] == 2 ? frames(1) : V::none()};
  if (!c.status().ok()) return {};
  const bool onesided = c.integer("onesided", 1) != 0;
  const Complex y = transformed(
      c, z, waves(c, length, onesided ? length / 2 + 1 : length, length, c.dtype(0), one), false);
  c.give(0, c.op("stack", {CallOperand(Values{y.re, y.im})}, {{"dim", 3}}), c.element(0));
  return {};
}

// ---- tables

Status give_table(Call& c, const std::vector<double>& values, const Ints& shape) {
  const int64_t e = c.integer("output_datatype", 1);
  if (e <= 0 || e > last_element || !carrier(static_cast<Element>(e)))
    return user_error("output_datatype is {}", e);
  const Element to = static_cast<Element>(e);
  const DType t = *carrier(to);
  const V table = c.floats("table", values, shape, is_floating(t) ? t : DType::f64);
  c.give(0, c.cast(table, is_floating(t) ? element_of(t) : Element::f64, to), to);
  return {};
}

Status window(Call& c, double (*f)(double)) {
  CLEAVE_TRY(const Ints size, c.ints(0, "size"));
  if (size.size() != 1 || size[0] < 0 || size[0] > int64_t{1} << 24)
    return user_error("the size is no size");
  const double last = static_cast<double>(size[0] - (c.integer("periodic", 1) != 0 ? 0 : 1));
  std::vector<double> values;
  for (int64_t k = 0; k < size[0]; ++k)
    values.push_back(f(2 * std::numbers::pi * static_cast<double>(k) / last));
  return give_table(c, values, {size[0]});
}
Status hann(Call& c) {
  return window(c, [](double a) { return 0.5 - 0.5 * std::cos(a); });
}
Status hamming(Call& c) {
  return window(c, [](double a) { return 25.0 / 46 - 21.0 / 46 * std::cos(a); });
}
Status blackman(Call& c) {
  return window(c, [](double a) { return 0.42 - 0.5 * std::cos(a) + 0.08 * std::cos(2 * a); });
}

// Triangles between frequencies that lie evenly on the mel scale.
Status mel_weights(Call& c) {
  double given[5];
  static constexpr const char* names[] = {"num_mel_bins", "dft_length", "sample_rate",
                                          "lower_edge_hertz", "upper_edge_hertz"};
  for (size_t k = 0; k < 5; ++k) {
    CLEAVE_TRY(const Array a, c.constant(k, names[k]));
    if (a.numel() != 1) return user_error("{} has {} numbers", names[k], a.numel());
    given[k] = a.number(0);
  }
  const auto [bins, length, rate, low, high] = given;
  if (!(bins >= 1 && bins <= 4096 && length >= 1 && length <= 1 << 20 && rate > 0 && low >= 0 &&
        high > low && high < 1e9))
    return user_error("bins or edges out of range");
  const int64_t rows = static_cast<int64_t>(length) / 2 + 1, columns = static_cast<int64_t>(bins);
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double step = (mel(high) - mel(low)) / (bins + 2);
  std::vector<int64_t> at;
  for (int64_t k = 0; k < columns + 2; ++k) {
    const double hertz =
        700 * (std::pow(10, (static_cast<double>(k) * step + mel(low)) / 2595) - 1);
    at.push_back(std::clamp(static_cast<int64_t>(std::floor((length + 1) * hertz / rate)),
                            int64_t{0}, rows - 1));
  }
  std::vector<double> w(static_cast<size_t>(rows * columns));
  for (int64_t i = 0; i < columns; ++i) {
    const size_t k = static_cast<size_t>(i);
    const auto set = [&](int64_t row, double v) { w[static_cast<size_t>(row * columns + i)] = v; };
    if (at[k + 1] == at[k]) set(at[k + 1], 1);
    for (int64_t j = at[k]; at[k + 1] != at[k] && j <= at[k + 1]; ++j)
      set(j, static_cast<double>(j - at[k]) / static_cast<double>(at[k + 1] - at[k]));
    for (int64_t j = at[k + 1]; j < at[k + 2]; ++j)
      set(j, static_cast<double>(at[k + 2] - j) / static_cast<double>(at[k + 2] - at[k + 1]));
  }
  return give_table(c, w, {rows, columns});
}

constexpr RuleEntry entries[] = {{"DFT", dft},
                                 {"STFT", stft},
                                 {"HannWindow", hann},
                                 {"HammingWindow", hamming},
                                 {"BlackmanWindow", blackman},
                                 {"MelWeightMatrix", mel_weights}};

}  // namespace

std::span<const RuleEntry> signal_rules() { return entries; }

}  // namespace cleave::onnx
