// Images read at places between their elements.
//
// grid_sampler_2d(input, grid; interpolation_mode, padding_mode, align_corners) -> y
//   input [N,C,H,W]   grid [N,h,w,2]       y [N,C,h,w]        grid's last dim: x along W, then y
// grid_sampler_3d(the same) -> y
//   input [N,C,D,H,W] grid [N,d,h,w,3]     y [N,C,d,h,w]      x along W, y along H, z along D
//
//   (C1) input is floating  (C2) grid has its dtype  (C3) both on one device  (C4) ranks as above
//   (C5) one N  (C6) the last dim of grid is 2 or 3  (C7) input's sizes behind C are known, and
//   not 0  (C8) interpolation_mode is 0 linear, 1 nearest or, of two dims, 2 cubic
//   (C9) padding_mode is 0 zeros, 1 border or 2 reflection
//
// A coordinate x in [-1,1] is place ((x + 1) n - 1) / 2 of a dim of n, or (x + 1) / 2 (n - 1) with
// align_corners. What lies outside is 0, the nearest element, or that at the place reflected at
// the border; a place at or beyond the border has no gradient there. Cubic weights are Keys' of
// a = -0.75. Where a place isn't finite, zeros read 0.
#include <cmath>

#include "op/broadcast.h"
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/grad_of_parts.h"
#include "op/reference_sum.h"
#include "op/sample_sets.h"
#include "op/wide_grad.h"

namespace cleave {
namespace {

constexpr double keys = -0.75;
enum Mode : int64_t { linear_mode, nearest_mode, cubic_mode };
enum Padding : int64_t { zeros_outside, border, reflection };

int64_t spatial_dims(const OpView& op) { return op.name() == "grid_sampler_2d" ? 2 : 3; }

Result<Types> infer(const OpView& op) {
  const Type &x = op.in_type(0), &grid = op.in_type(1);
  const int64_t dims = spatial_dims(op);
  CLEAVE_CHECK(check_floating(op, "C1", 0));
  CLEAVE_CHECK(check_same_dtype(op, "C2", 1, 0));
  CLEAVE_CHECK(common_device(op, "C3", {0, 1}));
  if (x.rank() != dims + 2 || grid.rank() != dims + 2)
    return op.broken("C4", "input is {} and grid is {}, expected rank {}", x.text(), grid.text(),
                     dims + 2);
  CLEAVE_CHECK(check_equal(op, "C5", "sizes of dim 0", x.shape[0], grid.shape[0]));
  CLEAVE_CHECK(check_equal(op, "C6", "the last dim of grid and the image's dims", grid.shape.back(),
                           Dim(dims)));
  for (size_t d = 2; d < x.shape.size(); ++d)
    if (!x.shape[d].is_const() || x.shape[d].value() == 0)
      return op.broken("C7", "dim {} of input: {}, expected a known size above 0", d, x.text());
  const int64_t mode = op.int_attr("interpolation_mode"), padding = op.int_attr("padding_mode");
  if (mode < 0 || mode > (dims == 2 ? cubic_mode : nearest_mode))
    return op.broken("C8", "interpolation_mode is {}, expected 0 linear, 1 nearest{}", mode,
                     dims == 2 ? " or 2 cubic" : "");
  if (padding < 0 || padding > reflection)
    return op.broken("C9", "padding_mode is {}, expected 0 zeros, 1 border or 2 reflection",
                     padding);
  Shape shape(grid.shape.begin(), grid.shape.end() - 1);
  shape.insert(shape.begin() + 1, x.shape[1]);
  return Types{typed_like(x, x.dtype, std::move(shape))};
}

// ---- the oracle: one result after the other

// A place of one dim of n elements, as the padding moves it.
double moved(double x, int64_t n, int64_t padding, bool aligned) {
  const auto last = static_cast<double>(n - 1);
  if (padding == zeros_outside) return x;
  if (padding == reflection) {
    const double low = aligned ? 0 : -0.5, span = aligned ? last : static_cast<double>(n);
    if (span <= 0) {
      x = 0;
    } else {
      const double from = std::fabs(x - low), extra = std::fmod(from, span);
      x = std::fmod(std::floor(from / span), 2) == 0 ? low + extra : low + span - extra;
    }
  }
  return std::isnan(x) ? x : std::clamp(x, 0.0, last);
}

struct WeightedPlace {
  double place = 0, weight = 1;
};

std::vector<WeightedPlace> neighbours(double x, int64_t n, int64_t mode, int64_t padding,
                                      bool aligned) {
  if (mode == nearest_mode) return {{std::nearbyint(moved(x, n, padding, aligned)), 1}};
  if (mode == linear_mode) {
    x = moved(x, n, padding, aligned);
    const double low = std::floor(x);
    return {{low, low + 1 - x}, {low + 1, x - low}};
  }
  std::vector<WeightedPlace> out;
  const double low = std::floor(x);
  for (int k = -1; k <= 2; ++k) {
    const double t = std::fabs(x - low - k);
    const double w = t <= 1 ? ((keys + 2) * t - (keys + 3)) * t * t + 1
                            : ((keys * t - 5 * keys) * t + 8 * keys) * t - 4 * keys;
    out.push_back({moved(low + k, n, padding, aligned), w});
  }
  return out;
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  const Array &x = *in[0], &grid = *in[1];
  const auto dims = static_cast<size_t>(spatial_dims(op));
  const int64_t mode = op.int_attr("interpolation_mode"), padding = op.int_attr("padding_mode");
  const bool aligned = op.bool_attr("align_corners");
  Array y(x.dtype, static_shape(op.out_type(0)));
  const int64_t channels = x.shape[1];
  int64_t places = 1, elements = 1;
  for (size_t d = 0; d < dims; ++d) {
    places *= grid.shape[d + 1];
    elements *= x.shape[d + 2];
  }
  for (int64_t k = 0; k < y.numel(); ++k) {
    const int64_t place = k % places, channel = k / places % channels, n = k / places / channels;
    const double* at = grid.f.data() + (n * places + place) * static_cast<int64_t>(dims);
    const double* image = x.f.data() + (n * channels + channel) * elements;
    std::vector<std::vector<WeightedPlace>> of(dims);
    for (size_t d = 0; d < dims; ++d) {
      const int64_t size = x.shape[d + 2];
      const double c = at[dims - 1 - d] + 1, extent = static_cast<double>(size);
      of[d] = neighbours(aligned ? c / 2 * (extent - 1) : (c * extent - 1) / 2, size, mode, padding,
                         aligned);
    }
    size_t all = 1;
    for (const auto& places_of_dim : of) all *= places_of_dim.size();
    ReferenceSum sum;
    for (size_t tap = 0; tap < all; ++tap) {
      size_t rest = tap;
      double weight = 1;
      int64_t from = 0;
      bool inside = true;
      for (size_t d = 0; d < dims; ++d) {
        const WeightedPlace& w = of[d][rest % of[d].size()];
        rest /= of[d].size();
        inside = inside && w.place >= 0 && w.place < static_cast<double>(x.shape[d + 2]);
        if (inside) from = from * x.shape[d + 2] + static_cast<int64_t>(w.place);
        weight *= w.weight;
      }
      sum += inside ? image[from] * weight : 0 * weight;
    }
    y.f[k] = sum;
  }
  return Arrays{std::move(y)};
}

// ---- the parts: all places at once, [N,P]

class Sampling {
 public:
  Sampling(Builder& b, const OpView& op)
      : b_(b), op_(op), dims_(spatial_dims(op)), mode_(op.int_attr("interpolation_mode")),
        padding_(op.int_attr("padding_mode")), aligned_(op.bool_attr("align_corners")),
        type_(wide(op.in_type(0).dtype)), image_(b.convert(op.in(0), type_)),
        grid_(b.convert(op.in(1), type_)) {}

  Values run() {
    std::vector<std::vector<Tap>> all;
    for (int64_t d = 0; d < dims_; ++d) all.push_back(taps(d));
    if (!b_.status().ok()) return {ValueId::none()};
    size_t count = 1;
    for (const auto& of_dim : all) count *= of_dim.size();
    ValueId y;
    for (size_t k = 0; k < count; ++k) {
      std::vector<Tap> at;
      size_t rest = k;
      for (const auto& of_dim : all) {
        at.push_back(of_dim[rest % of_dim.size()]);
        rest /= of_dim.size();
      }
      const ValueId part = read(at);
      y = y.valid() ? b_.add(y, part) : part;
    }
    return {b_.convert(b_.view(y, op_.out_type(0).shape), op_.in_type(0).dtype)};
  }

 private:
  struct Tap {
    ValueId place, weight;  // whole numbers in floating point; no weight: 1
  };

  const Shape& image_shape() const { return op_.in_type(0).shape; }
  int64_t size(int64_t d) const { return image_shape()[static_cast<size_t>(d + 2)].value(); }
  Dim places() const {
    Dim p = 1;
    for (int64_t d = 0; d < dims_; ++d) p = p * op_.in_type(1).shape[static_cast<size_t>(d + 1)];
    return p;
  }

  ValueId coordinate(int64_t d) {
    const ValueId x = b_.call1("select", {grid_}, {{"dim", -1}, {"index", dims_ - 1 - d}});
    const ValueId flat = b_.add(b_.view(x, {image_shape()[0], places()}), 1.0);
    const auto n = static_cast<double>(size(d));
    if (aligned_) return b_.mul(b_.div(flat, 2.0), n - 1);
    return b_.div(b_.sub(b_.mul(flat, n), 1.0), 2.0);
  }

  // Back and forth between low and low + span.
  ValueId reflected(ValueId x, double low, double span) {
    if (span <= 0) return b_.mul(x, 0.0);
    const ValueId from = b_.abs(b_.sub(x, low));
    const ValueId extra = b_.call1("fmod", {from, span});
    const ValueId turns = b_.call1("floor", {b_.div(from, span)});
    const ValueId odd = b_.ne(b_.call1("fmod", {turns, 2.0}), 0.0);
    return b_.where(odd, b_.sub(span + low, extra), b_.add(extra, low));
  }
  ValueId padded(ValueId x, int64_t d) {
    const auto n = static_cast<double>(size(d));
    if (padding_ == zeros_outside) return x;
    if (padding_ == reflection) x = aligned_ ? reflected(x, 0, n - 1) : reflected(x, -0.5, n);
    x = b_.where(b_.le(x, 0.0), 0.0, x);
    return b_.where(b_.ge(x, n - 1), n - 1, x);
  }

  std::vector<Tap> taps(int64_t d) {
    const ValueId at = coordinate(d);
    if (mode_ == nearest_mode) return {{b_.call1("round", {padded(at, d)}), ValueId::none()}};
    if (mode_ == linear_mode) {
      const ValueId x = padded(at, d), low = b_.call1("floor", {x});
      const ValueId high = b_.add(low, 1.0);
      return {{low, b_.sub(high, x)}, {high, b_.sub(x, low)}};
    }
    const ValueId low = b_.call1("floor", {at}), t = b_.sub(at, low);
    std::vector<Tap> out;
    for (int k = -1; k <= 2; ++k)
      out.push_back({padded(b_.add(low, static_cast<double>(k)), d), cubic_weight(t, k)});
    return out;
  }
  ValueId cubic_weight(ValueId t, int k) {
    const ValueId x = b_.abs(b_.sub(t, static_cast<double>(k)));
    const auto horner = [&](double a, double b, double c, double d) {
      const ValueId ax = b_.add(b_.mul(x, a), b);
      return b_.add(b_.mul(b_.add(b_.mul(ax, x), c), x), d);
    };
    if (k == 0 || k == 1) return horner(keys + 2, -(keys + 3), 0, 1);
    return horner(keys, -5 * keys, 8 * keys, -4 * keys);
  }

  // What lies at the taps, one a dim: weighted, 0 outside.
  ValueId read(const std::vector<Tap>& at) {
    ValueId index, inside, weight;
    int64_t elements = 1;
    for (int64_t d = 0; d < dims_; ++d) {
      const Tap& tap = at[static_cast<size_t>(d)];
      elements *= size(d);
      const ValueId in =
          b_.logical_and(b_.ge(tap.place, 0.0), b_.le(tap.place, static_cast<double>(size(d) - 1)));
      inside = d == 0 ? in : b_.logical_and(inside, in);
      // not the conversion of a number out of range, or NaN
      const ValueId whole =
          b_.convert(b_.where(in, b_.call1("detach", {tap.place}), 0.0), DType::i64);
      index = d == 0 ? whole : b_.add(b_.mul(index, AttrValue(size(d))), whole);
      if (tap.weight.valid()) weight = weight.valid() ? b_.mul(weight, tap.weight) : tap.weight;
    }
    const Dim n = image_shape()[0], channels = image_shape()[1];
    index = b_.expand(b_.unsqueeze(index, 1), {n, channels, places()});
    ValueId y =
        b_.call1("gather", {b_.view(image_, {n, channels, Dim(elements)}), index}, {{"dim", 2}});
    y = b_.where(b_.unsqueeze(inside, 1), y, 0.0);
    return weight.valid() ? b_.mul(y, b_.unsqueeze(weight, 1)) : y;
  }

  Builder& b_;
  const OpView& op_;
  const int64_t dims_, mode_, padding_;
  const bool aligned_;
  const DType type_;
  const ValueId image_, grid_;
};

Values decompose(Builder& b, const OpView& op) { return Sampling(b, op).run(); }

// ---- entries

SampleAttrs how(Mode mode, Padding padding, bool aligned) {
  return {{"interpolation_mode", mode}, {"padding_mode", padding}, {"align_corners", aligned}};
}

// Places away from those where the slope changes, inside and outside of an image of any size.
SampleTensor places(DType t, std::vector<int64_t> shape) {
  SampleTensor s = any_of(t, shape);
  int64_t count = 1;
  for (int64_t n : shape) count *= n;
  std::vector<double> values;
  for (int64_t k = 0; k < count; ++k)
    values.push_back(-1.43 + 0.1875 * static_cast<double>(k * 5 % 16) +
                     0.0071 * static_cast<double>(k % 3));
  return s.with(std::move(values));
}

Samples samples_of(int64_t dims) {
  const auto image = [&](DType t, int64_t n) {
    return any_of(
        t, dims == 2 ? std::vector<int64_t>{n, 2, 4, 3} : std::vector<int64_t>{n, 1, 2, 4, 3});
  };
  const auto grid = [&](DType t, int64_t n) {
    return places(
        t, dims == 2 ? std::vector<int64_t>{n, 3, 2, 2} : std::vector<int64_t>{n, 2, 1, 3, 3});
  };
  Samples out;
  for (Mode mode : {linear_mode, nearest_mode, cubic_mode})
    for (Padding padding : {zeros_outside, border, reflection})
      for (bool aligned : {false, true})
        if (dims == 2 || mode != cubic_mode)
          out.push_back({{image(DType::f32, 2), grid(DType::f32, 2)}, how(mode, padding, aligned)});
  for (DType t : {DType::f64, DType::bf16, DType::f16})
    out.push_back({{image(t, 1), grid(t, 1)}, how(linear_mode, zeros_outside, false)});
  const SampleTensor image1 =
      f32(dims == 2 ? std::vector<int64_t>{1, 1, 1, 1} : std::vector<int64_t>{1, 1, 1, 1, 1});
  const SampleTensor grid1 = grid(DType::f32, 1);
  out.push_back({{image1, grid1}, how(linear_mode, reflection, true)});
  out.push_back({{image1, grid1}, how(linear_mode, reflection, false)});
  return out;
}

Cost cost(const OpView& op) {
  const int64_t each = op.int_attr("interpolation_mode") == cubic_mode ? 64 : 16;
  return {each * numel_hint(op, op.out_type(0)), bytes_moved(op)};
}

OpDef entry(int64_t dims, Lazy<Rejects> rejects) {
  return OpDef{
      .name = fmt::format("grid_sampler_{}d", dims),
      .signature =
          "(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, "
          "bool align_corners) -> Tensor",
      .summary = dims == 2 ? "Images read at places between their elements."
                           : "Volumes read at places between their elements.",
      .source = fmt::format("aten::grid_sampler_{}d, PyTorch 2.13", dims),
      .traits = Trait::recomputable,
      .infer = infer,
      .reference = reference,
      .decompose = decompose,
      .grad = grad_of_parts(decompose),
      .lower = loop::by_decomposition(),
      .cost = cost,
      .samples = [dims] { return samples_of(dims); },
      .rejects = std::move(rejects),
  };
}

Rejects rejects_2d() {
  const SampleAttrs linear = how(linear_mode, zeros_outside, false);
  const auto x = f32({1, 1, 2, 2}), at = f32({1, 3, 3, 2});
  const std::string op = "grid_sampler_2d: ";
  return {
      {"C1",
       {{i64({1, 1, 2, 2}), at}, linear},
       op + "C1: input is i64[1,1,2,2], expected a floating dtype"},
      {"C2",
       {{x, f64({1, 3, 3, 2})}, linear},
       op + "C2: grid is f64[1,3,3,2], expected the dtype of input: f32"},
      {"C3",
       {{x, on_cuda(at)}, linear},
       op + "C3: input is f32[1,1,2,2] and grid is f32[1,3,3,2]@cuda:0, expected one device"},
      {"C4",
       {{x, f32({1, 3, 2})}, linear},
       op + "C4: input is f32[1,1,2,2] and grid is f32[1,3,2], expected rank 4"},
      {"C5", {{x, f32({2, 3, 3, 2})}, linear}, op + "C5: sizes of dim 0: 1 and 2, expected equal"},
      {"C6",
       {{x, f32({1, 3, 3, 3})}, linear},
       op + "C6: the last dim of grid and the image's dims: 3 and 2, expected equal"},
      {"C7",
       {{f32({1, 1, 0, 2}), at}, linear},
       op + "C7: dim 2 of input: f32[1,1,0,2], expected a known size above 0"},
      {"C8",
       {{x, at}, {{"interpolation_mode", 3}, {"padding_mode", 0}, {"align_corners", false}}},
       op + "C8: interpolation_mode is 3, expected 0 linear, 1 nearest or 2 cubic"},
      {"C9",
       {{x, at}, {{"interpolation_mode", 0}, {"padding_mode", 3}, {"align_corners", false}}},
       op + "C9: padding_mode is 3, expected 0 zeros, 1 border or 2 reflection"}};
}

Rejects rejects_3d() {
  return {{"C8",
           {{f32({1, 1, 2, 2, 2}), f32({1, 1, 1, 1, 3})}, how(cubic_mode, zeros_outside, false)},
           "grid_sampler_3d: C8: interpolation_mode is 2, expected 0 linear, 1 nearest"}};
}

}  // namespace

CLEAVE_OPS(grid_sampler) { return {entry(2, rejects_2d), entry(3, rejects_3d)}; }

}  // namespace cleave
