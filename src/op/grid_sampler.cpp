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
#include "op/grid_sampling.h"
#include "op/reference_sum.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

using namespace grid_sampling;

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

// ---- the parts

Values decompose(Builder& b, const OpView& op) {
  const ValueId y = GridSampling(b, op, 0).values();
  if (!b.status().ok()) return {ValueId::none()};
  return {b.convert(b.view(y, op.out_type(0).shape), op.in_type(0).dtype)};
}

// ---- entries

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
