// Resized images: rows and columns are gathered at positions that are computed here, as PyTorch
// rounds them; Resize leaves the roundings open.
#include <algorithm>
#include <cmath>
#include <optional>

#include "export/onnx/rules.h"

namespace cleave::to_onnx {
namespace {

std::optional<double> scale_of(const Call& c, size_t d) {
  if (const AttrList* list = c.op().attr("scale_factors").get<AttrList>();
      list && list->size() == 2)
    return (*list)[d].as_double();
  const char* name = d == 0 ? "scales_h" : "scales_w";
  if (c.op().given(name)) return c.op().float_attr(name);
  return std::nullopt;
}

struct Resized {
  int64_t in = 0, out = 0;
  std::optional<double> scale;
};

Result<Resized> resized(Call& c, size_t d) {
  const Dim &in = c.shape(0)[d + 2], &out = c.result(0).shape[d + 2];
  if (!in.is_const() || !out.is_const()) return c.refused("sizes that aren't numbers");
  CLEAVE_CHECK(c.check_count({out.value()}));
  return Resized{in.value(), out.value(), scale_of(c, d)};
}

Status nearest(Call& c) {
  V x = c.in(0);
  for (size_t d = 0; d < 2; ++d) {
    CLEAVE_TRY(const Resized r, resized(c, d));
    const float ratio = r.scale ? static_cast<float>(1 / *r.scale)
                                : static_cast<float>(r.in) / static_cast<float>(r.out);
    Ints at;
    for (int64_t o = 0; o < r.out; ++o) {
      const auto near = static_cast<int64_t>(std::floor(static_cast<float>(o) * ratio));
      at.push_back(r.in == r.out ? o : r.out == 2 * r.in ? o / 2 : std::min(near, r.in - 1));
    }
    if (r.in != r.out) x = c.gather(x, c.model().list(at), static_cast<int64_t>(d) + 2);
  }
  c.give(0, x);
  return {};
}

// (1 - f) x[low] + f x[high] along a dim.
V blended(Call& c, const V& x, const Resized& r, bool corners, int64_t dim) {
  const auto n = static_cast<double>(r.in), m = static_cast<double>(r.out);
  const double ratio = corners   ? (r.out > 1 ? (n - 1) / (m - 1) : 0)
                       : r.scale ? 1 / *r.scale
                                 : n / m;
  Ints low, high;
  std::vector<double> fraction, rest;
  for (int64_t o = 0; o < r.out; ++o) {
    const auto k = static_cast<double>(o);
    const double s = corners ? k * ratio : std::max(0.0, (k + 0.5) * ratio - 0.5);
    low.push_back(std::min(static_cast<int64_t>(s), r.in - 1));
    high.push_back(std::min(low.back() + 1, r.in - 1));
    fraction.push_back(std::min(1.0, s - static_cast<double>(low.back())));
    rest.push_back(1 - fraction.back());
  }
  const auto weights = [&](const std::vector<double>& w) {
    Ints shape(static_cast<size_t>(4 - dim), 1);
    shape[0] = r.out;
    return c.model().constant(HostTensor::from<double>(w, shape).to(x.dtype));
  };
  const V a = c.node("Mul", {c.gather(x, c.model().list(low), dim), weights(rest)});
  const V b = c.node("Mul", {c.gather(x, c.model().list(high), dim), weights(fraction)});
  return c.node("Add", {a, b});
}

Status bilinear(Call& c) {
  V x = c.carried(0);
  for (size_t d = 0; d < 2; ++d) {
    CLEAVE_TRY(const Resized r, resized(c, d));
    // An element that is copied is also read with weight 0: infinities become NaN.
    if (r.in == r.out)
      x = c.node("Add", {x, c.node("Mul", {x, c.number(0, x.dtype)})});
    else
      x = blended(c, x, r, c.op().bool_attr("align_corners"), static_cast<int64_t>(d) + 2);
  }
  c.give(0, x);
  return {};
}

constexpr RuleEntry rules[] = {{"upsample_nearest2d", nearest}, {"upsample_bilinear2d", bilinear}};

}  // namespace

std::span<const RuleEntry> resize_rules() { return rules; }

}  // namespace cleave::to_onnx
