#include "import/onnx/interpolation.h"

#include <algorithm>
#include <cmath>

namespace cleave::onnx {
namespace {

// Where place x of the result lies in the operand.
Result<double> source_of(const ResizeAxis& a, double x) {
  const double from = static_cast<double>(a.from), to = a.scale * from;
  const std::string& t = a.transformation;
  if (t == "align_corners") return to == 1 ? 0.0 : x * (from - 1) / (to - 1);
  if (t == "asymmetric") return x / a.scale;
  if (t == "pytorch_half_pixel") return to == 1 ? -0.5 : (x + 0.5) / a.scale - 0.5;
  if (t == "half_pixel") return (x + 0.5) / a.scale - 0.5;
  if (t == "half_pixel_symmetric") {
    const double adjustment = static_cast<double>(a.to) / to;
    return from / 2 * (1 - adjustment) + (x + 0.5) / a.scale - 0.5;
  }
  if (t == "tf_crop_and_resize") {
    const double width = a.roi_end - a.roi_start;
    const double at = to == 1 ? width * (from - 1) / 2 : x * width * (from - 1) / (to - 1);
    return at + a.roi_start * (from - 1);
  }
  return unsupported("the coordinates \"{}\"", t);
}

double cubic(double x, double a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

int64_t nearest_of(const ResizeAxis& a, double at) {
  const double low = std::floor(at), part = at - low;
  double chosen = low;
  if (part != 0) {
    if (a.nearest == "ceil") chosen = low + 1;
    if (a.nearest == "round_prefer_floor") chosen = part <= 0.5 ? low : low + 1;
    if (a.nearest == "round_prefer_ceil") chosen = part < 0.5 ? low : low + 1;
  }
  if (std::isnan(chosen)) return 0;
  return static_cast<int64_t>(std::clamp(chosen, 0.0, static_cast<double>(a.from - 1)));
}

// Adds the weights of the elements around `at`; the edges repeat.
void add_weights(const ResizeAxis& a, double at, double* row) {
  constexpr double farthest = 1e15;  // beyond it the edges repeat as well
  if (!(std::abs(at) < farthest)) at = at > 0 ? farthest : -farthest;
  const bool linear = a.mode == "linear";
  const double shrink = a.antialias ? std::min(a.scale, 1.0) : 1;
  const double reach = (linear ? 1 : 2) / shrink;
  const int64_t first = static_cast<int64_t>(std::floor(at - reach)) + 1;
  const int64_t last = static_cast<int64_t>(std::ceil(at + reach)) - 1;
  double sum = 0;
  for (int pass = 0; pass < 2; ++pass)
    for (int64_t i = first; i <= last; ++i) {
      const double distance = (static_cast<double>(i) - at) * shrink;
      double w = linear ? std::clamp(1 - std::abs(distance), 0.0, 1.0) : cubic(distance, a.cubic_a);
      const bool outside = i < 0 || i >= a.from;
      if (a.exclude_outside && outside) w = 0;
      if (pass == 0)
        sum += w;
      else
        row[std::clamp(i, int64_t{0}, a.from - 1)] += w / sum;
    }
}

}  // namespace

Result<ResizeWeights> resize_weights(const ResizeAxis& a) {
  ResizeWeights out;
  if (a.mode != "nearest" && a.mode != "linear" && a.mode != "cubic")
    return unsupported("the mode \"{}\"", a.mode);
  if (a.mode != "nearest") out.weights.assign(static_cast<size_t>(a.to * a.from), 0);
  for (int64_t x = 0; x < a.to; ++x) {
    CLEAVE_TRY(const double at, source_of(a, static_cast<double>(x)));
    if (!(std::abs(at) < 1e12)) return user_error("a place at {}", at);
    out.outside.push_back(a.transformation == "tf_crop_and_resize" &&
                          (at < 0 || at > static_cast<double>(a.from - 1)));
    if (a.mode == "nearest")
      out.index.push_back(nearest_of(a, at));
    else
      add_weights(a, at, out.weights.data() + x * a.from);
  }
  return out;
}

}  // namespace cleave::onnx
