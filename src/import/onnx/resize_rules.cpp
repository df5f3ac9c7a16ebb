// Resize: along each axis a product with the matrix of its weights, or the nearest elements.
#include <algorithm>
#include <cmath>

#include "import/onnx/interpolation.h"
#include "import/onnx/rules.h"

namespace cleave::onnx {
namespace {

constexpr int64_t most_weights = int64_t{1} << 24;

struct Target {
  Ints axes;
  Shape from, to;
  std::vector<double> scale;
};

double number(const Dim& d) { return static_cast<double>(d.value()); }

Result<Dim> scaled_size(const Dim& from, double scale) {
  if (scale == 1) return from;
  if (!from.is_const()) return unsupported("a dim of {} scaled by {}", from.text(), scale);
  if (!(scale > 0) || !(scale * number(from) < 1e9)) return user_error("a scale of {}", scale);
  return Dim(static_cast<int64_t>(std::floor(scale * number(from))));
}

// All axes in proportion: the smallest or the largest of their scales.
Status keep_aspect_ratio(Target& t, const std::string& policy) {
  for (const Dim& d : t.from)
    if (!d.is_const()) return unsupported("the proportions of a dim of {}", d.text());
  const double one = policy == "not_larger" ? *std::ranges::min_element(t.scale)
                                            : *std::ranges::max_element(t.scale);
  for (size_t k = 0; k < t.axes.size(); ++k) {
    const double to = std::floor(one * number(t.from[k]) + 0.5);
    if (!(to >= 0 && to < 1e9)) return user_error("a size of {}", to);
    t.scale[k] = one;
    t.to[k] = static_cast<int64_t>(to);
  }
  return {};
}

// Sizes and scales of the axes, from either. A size that isn't a number has to stay.
Result<Target> target_of(Call& c, size_t scales, size_t sizes) {
  Target t;
  const Shape x = c.shape(0);
  CLEAVE_TRY(t.axes, c.axes(c.given("axes") ? c.list("axes") : all_axes(c.rank(0)), c.rank(0)));
  for (const int64_t axis : t.axes) t.from.push_back(x[static_cast<size_t>(axis)]);
  const auto given = c.has(scales) ? c.known(scales) : nullptr;
  const bool empty = given && given->numel() == 0;
  t.scale = c.reals("scales");  // of Upsample before opset 9
  if (c.has(scales) && !empty) {
    CLEAVE_TRY(const Array s, c.constant(scales, "scales"));
    t.scale = doubles_of(s);
  }
  if (!t.scale.empty()) {
    if (t.scale.size() != t.axes.size())
      return user_error("{} scales for {} axes", t.scale.size(), t.axes.size());
    for (size_t k = 0; k < t.axes.size(); ++k) {
      CLEAVE_TRY(t.to.emplace_back(), scaled_size(t.from[k], t.scale[k]));
    }
    return t;
  }
  if (!c.has(sizes)) return user_error("neither scales nor sizes are given");
  CLEAVE_TRY(t.to, c.dims(sizes, "sizes"));
  if (t.to.size() != t.axes.size())
    return user_error("{} sizes for {} axes", t.to.size(), t.axes.size());
  for (size_t k = 0; k < t.axes.size(); ++k) {
    const Dim &from = t.from[k], &to = t.to[k];
    if (!(from == to) && (!from.is_const() || !to.is_const() || from.value() < 1))
      return unsupported("a dim of {} resized to {}", from.text(), to.text());
    t.scale.push_back(from == to ? 1 : number(to) / number(from));
  }
  const std::string policy = c.text("keep_aspect_ratio_policy", "stretch");
  if (policy != "stretch" && !t.axes.empty()) CLEAVE_CHECK(keep_aspect_ratio(t, policy));
  return t;
}

// One axis of x, whose elements beyond the region are `extrapolation`.
Result<V> resized(Call& c, V x, int64_t axis, const ResizeAxis& a, double extrapolation) {
  if (a.from < 1 || a.to < 0 || a.from > most_weights || a.to > most_weights ||
      a.from * a.to > most_weights)
    return unsupported("a dim of {} resized to {}", a.from, a.to);
  CLEAVE_TRY(const ResizeWeights w, resize_weights(a));
  V y;
  if (a.mode == "nearest") {
    y = taken(c, x, axis, w.index);
  } else {
    const V matrix = c.floats("weights", w.weights, {a.to, a.from}, c.type(x).dtype);
    const int64_t last = c.rank(x) - 1;
    V moved = c.op("transpose", {x}, {{"dim0", axis}, {"dim1", last}});
    moved = c.matmul(moved, c.permute(matrix, {1, 0}));
    y = c.op("transpose", {moved}, {{"dim0", axis}, {"dim1", last}});
  }
  if (std::ranges::find(w.outside, true) == w.outside.end()) return y;
  HostTensor outside(DType::boolean, {a.to});
  for (int64_t k = 0; k < a.to; ++k)
    outside.set_number(k, w.outside[static_cast<size_t>(k)] ? 1 : 0);
  Shape line(static_cast<size_t>(c.rank(x)), Dim(1));
  line[static_cast<size_t>(axis)] = a.to;
  const AttrValue beyond =
      is_floating(c.type(y).dtype) ? extrapolation : nearest_in(c.element(0), extrapolation);
  return c.where(c.view(c.tensor("outside", std::move(outside)), line), beyond, y);
}

Status resize_by(Call& c, size_t scales, size_t sizes, ResizeAxis a) {
  CLEAVE_TRY(const Target t, target_of(c, scales, sizes));
  std::vector<double> roi;
  if (a.transformation == "tf_crop_and_resize") {
    CLEAVE_TRY(const Array given, c.constant(1, "roi"));
    roi = doubles_of(given);
    if (roi.size() != 2 * t.axes.size()) return user_error("roi has {} numbers", roi.size());
  }
  const Element e = c.element(0);
  const bool rounds = a.mode != "nearest" && !is_float(e);
  V x = c.in(0);
  if (rounds) x = c.cast(x, e, bits_of(e) < 32 ? Element::f32 : Element::f64);
  bool any = false;
  for (size_t k = 0; k < t.axes.size() && c.status().ok(); ++k) {
    if (!roi.empty()) {
      a.roi_start = roi[k];
      a.roi_end = roi[k + t.axes.size()];
    }
    a.scale = t.scale[k];
    if (t.from[k] == t.to[k] && a.scale == 1 && a.roi_start == 0 && a.roi_end == 1) continue;
    if (!t.from[k].is_const()) return unsupported("a region of a dim of {}", t.from[k].text());
    a.from = t.from[k].value();
    a.to = t.to[k].value();
    CLEAVE_TRY(x, resized(c, x, t.axes[k], a, c.real("extrapolation_value")));
    any = true;
  }
  if (!any) x = c.in(0);
  if (any && rounds) x = clamped(c, c.op("round", {x}), e);
  c.give(0, c.convert(x, c.dtype(0)), e);
  return {};
}

// Before opset 11: operand 1 holds the scales, coordinates are asymmetric and rounded down.
Status resize(Call& c) {
  ResizeAxis a;
  a.mode = c.text("mode", "nearest");
  a.cubic_a = c.real("cubic_coeff_a", -0.75);
  a.exclude_outside = c.integer("exclude_outside") != 0;
  a.antialias = c.integer("antialias") != 0;
  if (c.version() < 11) {
    a.transformation = "asymmetric";
    a.nearest = "floor";
    return resize_by(c, 1, SIZE_MAX, a);
  }
  a.transformation = c.text("coordinate_transformation_mode", "half_pixel");
  a.nearest = c.text("nearest_mode", "round_prefer_floor");
  return resize_by(c, 2, 3, a);
}

Status upsample(Call& c) {
  ResizeAxis a;
  a.mode = c.text("mode", "nearest");
  if (a.mode == "bilinear") a.mode = "linear";
  a.transformation = "asymmetric";
  a.nearest = "floor";
  return resize_by(c, 1, SIZE_MAX, a);
}

// ---- grids

// Coordinates of n places in [-1, 1]: ends included, or the middles of as many parts.
V places(Call& c, int64_t n, bool ends) {
  std::vector<double> at;
  for (int64_t k = 0; k < n; ++k) {
    const double x = static_cast<double>(k), m = static_cast<double>(n);
    at.push_back(ends ? (n == 1 ? -1 : -1 + 2 * x / (m - 1)) : (2 * x + 1) / m - 1);
  }
  return c.floats("places", at, {n}, c.dtype(0));
}

// theta[n, d, d + 1] applied to each place of an image of the size.
Status affine_grid(Call& c) {
  CLEAVE_TRY(const Ints size, c.ints(1, "size"));
  if (size.size() != 4 && size.size() != 5)
    return user_error("the size has {} numbers, expected 4 or 5", size.size());
  const bool ends = c.integer("align_corners") != 0;
  const Ints image(size.begin() + 2, size.end());
  const size_t dims = image.size();
  for (const int64_t n : image)
    if (n < 1 || n > most_weights) return user_error("an image with a dim of {}", n);
  const Shape grid(image.begin(), image.end());
  Values axes;  // x first, 1 at last
  for (size_t d = dims; d-- > 0;) {
    Shape line(dims, Dim(1));
    line[d] = image[d];
    axes.push_back(c.expand(c.view(places(c, image[d], ends), line), grid));
  }
  axes.push_back(c.full(grid, 1, c.dtype(0)));
  const V base =
      c.op("stack", {CallOperand(std::move(axes))}, {{"dim", static_cast<int64_t>(dims)}});
  const int64_t d = static_cast<int64_t>(dims);
  const V flat = c.op("reshape", {base}, {{"shape", Shape{1, product_of(grid, 0, dims), d + 1}}});
  const V turned = c.op("transpose", {c.in(0)}, {{"dim0", 1}, {"dim1", 2}});
  Shape out = {size[0]};
  out.insert(out.end(), grid.begin(), grid.end());
  out.emplace_back(d);
  c.give(0, c.view(c.matmul(flat, turned), out), c.element(0));
  return {};
}

constexpr RuleEntry entries[] = {
    {"Resize", resize}, {"Upsample", upsample}, {"AffineGrid", affine_grid}};

}  // namespace

std::span<const RuleEntry> resize_rules() { return entries; }

}  // namespace cleave::onnx
