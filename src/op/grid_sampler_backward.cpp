// The gradients of grid_sampler_2d and grid_sampler_3d.
//
// grid_sampler_2d_backward(grad_output, input, grid; interpolation_mode, padding_mode,
//                          align_corners, output_mask) -> dinput, dgrid
//   grad_output [N,C,h,w]   input [N,C,H,W]   grid [N,h,w,2]
// grid_sampler_3d_backward(the same over three dims) -> dinput, dgrid
//
//   (C1) grad_output is floating  (C2) input and grid have its dtype  (C3) all on one device
//   (C4) ranks as above  (C5) sizes that are named alike are equal  (C6) input's sizes behind C are
//   known, and not 0  (C7) modes as grid_sampler_2d has them  (C8) output_mask has two elements
//
// A result that output_mask leaves out is none. The slope of a weight at a place where it jumps is
// that from the right; places at or beyond a border have no slope, and none do with mode nearest.
#include <cmath>

#include "op/broadcast.h"
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/grad_of_parts.h"
#include "op/grid_sampling.h"
#include "op/norm_graph.h"
#include "op/reference_sum.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

using namespace grid_sampling;

enum Operand { at_grad, at_image, at_grid };

bool wants(const OpView& op, size_t k) { return bools_attr(op, "output_mask")[k]; }

Result<Types> infer(const OpView& op, int64_t dims) {
  const Type &grad = op.in_type(at_grad), &x = op.in_type(at_image), &grid = op.in_type(at_grid);
  CLEAVE_CHECK(check_floating(op, "C1", at_grad));
  CLEAVE_CHECK(check_same_dtype(op, "C2", at_image, at_grad));
  CLEAVE_CHECK(check_same_dtype(op, "C2", at_grid, at_grad));
  CLEAVE_CHECK(common_device(op, "C3", {at_grad, at_image, at_grid}));
  if (grad.rank() != dims + 2 || x.rank() != dims + 2 || grid.rank() != dims + 2)
    return op.broken("C4", "grad_output is {}, input is {} and grid is {}, expected rank {}",
                     grad.text(), x.text(), grid.text(), dims + 2);
  Shape places = {x.shape[0]}, wanted = {x.shape[0], x.shape[1]};
  for (int64_t d = 0; d < dims; ++d) {
    places.push_back(grad.shape[static_cast<size_t>(d + 2)]);
    wanted.push_back(places.back());
    const Dim& size = x.shape[static_cast<size_t>(d + 2)];
    if (!size.is_const() || size.value() == 0)
      return op.broken("C6", "dim {} of input: {}, expected a known size above 0", d + 2, x.text());
  }
  places.push_back(Dim(dims));
  CLEAVE_CHECK(check_same_shape(op, "C5", "grad_output and its places", grad.shape, wanted));
  CLEAVE_CHECK(
      check_same_shape(op, "C5", "grid and the places of grad_output", grid.shape, places));
  const int64_t mode = op.int_attr("interpolation_mode"), padding = op.int_attr("padding_mode");
  if (mode < 0 || mode > (dims == 2 ? cubic_mode : nearest_mode) || padding < 0 ||
      padding > reflection)
    return op.broken("C7",
                     "interpolation_mode is {} and padding_mode {}, expected 0 to {} and 0 "
                     "to 2",
                     mode, padding, dims == 2 ? 2 : 1);
  const size_t given = bools_attr(op, "output_mask").size();
  if (given != 2) return op.broken("C8", "output_mask has {} elements, expected 2", given);
  return Types{wants(op, 0) ? typed_like(x, x.dtype, x.shape) : Type::none(),
               wants(op, 1) ? typed_like(grid, grid.dtype, grid.shape) : Type::none()};
}

// ---- the oracle

struct Moved {
  double place = 0, slope = 1;
};

// A place of one dim of n elements, as the padding moves it.
Moved moved(double x, int64_t n, int64_t padding, bool aligned) {
  Moved m{x, 1};
  const auto last = static_cast<double>(n - 1);
  if (padding == zeros_outside) return m;
  if (padding == reflection) {
    const double low = aligned ? 0 : -0.5, span = aligned ? last : static_cast<double>(n);
    if (span <= 0) {
      m = {0, 0};
    } else {
      const double from = std::fabs(x - low), extra = std::fmod(from, span);
      const bool back = std::fmod(std::floor(from / span), 2) != 0;
      m.place = back ? low + span - extra : low + extra;
      m.slope = (x < low) != back ? -1 : 1;
    }
  }
  if (m.place <= 0) return {0, 0};
  if (m.place >= last) return {last, 0};
  return m;
}

struct Neighbour {
  double place = 0, weight = 1, slope = 0;  // slope: by the number of the grid
};

std::vector<Neighbour> neighbours(double number, int64_t n, const OpView& op) {
  const int64_t mode = op.int_attr("interpolation_mode"), padding = op.int_attr("padding_mode");
  const bool aligned = op.bool_attr("align_corners");
  const auto extent = static_cast<double>(n);
  const double x = aligned ? (number + 1) / 2 * (extent - 1) : ((number + 1) * extent - 1) / 2;
  const double per_unit = aligned ? (extent - 1) / 2 : extent / 2;
  if (mode != cubic_mode) {
    const Moved m = moved(x, n, padding, aligned);
    if (mode == nearest_mode) return {{std::nearbyint(m.place), 1, 0}};
    const double low = std::floor(m.place), slope = m.slope * per_unit;
    return {{low, low + 1 - m.place, -slope}, {low + 1, m.place - low, slope}};
  }
  std::vector<Neighbour> out;
  for (int k = -1; k <= 2; ++k) {
    const double low = std::floor(x), at = x - low - k, t = std::fabs(at), sign = at < 0 ? -1 : 1;
    const bool near = k == 0 || k == 1;
    const double w =
        near ? ((keys + 2) * t - (keys + 3)) * t * t + 1 : keys * (((t - 5) * t + 8) * t - 4);
    const double slope =
        near ? (3 * (keys + 2) * t - 2 * (keys + 3)) * t : keys * ((3 * t - 10) * t + 8);
    out.push_back({moved(low + k, n, padding, aligned).place, w, sign * slope * per_unit});
  }
  return out;
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in, int64_t dims) {
  const Array &grad = *in[at_grad], &x = *in[at_image], &grid = *in[at_grid];
  const int64_t channels = x.shape[1];
  int64_t places = 1, elements = 1;
  for (int64_t d = 0; d < dims; ++d) {
    places *= grid.shape[d + 1];
    elements *= x.shape[d + 2];
  }
  ReferenceSums of_image(x.f.size()), of_grid(grid.f.size());
  for (int64_t at = 0; at < x.shape[0] * places; ++at) {
    std::vector<std::vector<Neighbour>> of(static_cast<size_t>(dims));
    size_t all = 1;
    for (int64_t d = 0; d < dims; ++d) {
      of[d] = neighbours(grid.f[at * dims + dims - 1 - d], x.shape[d + 2], op);
      all *= of[d].size();
    }
    for (size_t tap = 0; tap < all; ++tap) {
      std::vector<Neighbour> chosen;
      size_t rest = tap;
      int64_t from = 0;
      double weight = 1;
      bool inside = true;
      for (int64_t d = 0; d < dims; ++d) {
        const Neighbour& w = of[d][rest % of[d].size()];
        rest /= of[d].size();
        chosen.push_back(w);
        weight *= w.weight;
        inside = inside && w.place >= 0 && w.place < static_cast<double>(x.shape[d + 2]);
        if (inside) from = from * x.shape[d + 2] + static_cast<int64_t>(w.place);
      }
      if (!inside) continue;
      const int64_t n = at / places;
      for (int64_t c = 0; c < channels; ++c) {
        const double g = grad.f[(n * channels + c) * places + at % places];
        const int64_t element = (n * channels + c) * elements + from;
        of_image[element] += g * weight;
        for (int64_t d = 0; d < dims; ++d) {
          double slope = chosen[d].slope;
          for (int64_t e = 0; e < dims; ++e)
            if (e != d) slope *= chosen[e].weight;
          of_grid[at * dims + dims - 1 - d] += g * x.f[element] * slope;
        }
      }
    }
  }
  Arrays out = {Array(x.dtype, x.shape), Array(grid.dtype, grid.shape)};
  out[0].f = rounded(of_image);
  out[1].f = rounded(of_grid);
  return out;
}

Values decompose(Builder& b, const OpView& op) {
  return GridSampling(b, op, at_image).gradients(op.in(at_grad), wants(op, 0), wants(op, 1));
}

Samples samples_of(int64_t dims) {
  using Ints = std::vector<int64_t>;
  const auto call = [&](DType t, Mode mode, Padding padding, bool aligned, bool image, bool grid) {
    SampleAttrs attrs = how(mode, padding, aligned);
    attrs.emplace_back("output_mask", std::vector<bool>{image, grid});
    return dims == 2 ? Sample{{any_of(t, Ints{2, 2, 3, 2}), any_of(t, Ints{2, 2, 4, 3}),
                               places(t, {2, 3, 2, 2})},
                              attrs}
                     : Sample{{any_of(t, Ints{1, 2, 2, 1, 3}), any_of(t, Ints{1, 2, 2, 4, 3}),
                               places(t, {1, 2, 1, 3, 3})},
                              attrs};
  };
  Samples out;
  for (Mode mode : {linear_mode, nearest_mode, cubic_mode})
    for (Padding padding : {zeros_outside, border, reflection})
      for (bool aligned : {false, true})
        if (dims == 2 || mode != cubic_mode)
          out.push_back(call(DType::f32, mode, padding, aligned, true, true));
  for (DType t : {DType::f64, DType::bf16, DType::f16})
    out.push_back(call(t, linear_mode, zeros_outside, false, true, true));
  out.push_back(call(DType::f32, linear_mode, border, true, true, false));
  out.push_back(call(DType::f32, linear_mode, border, true, false, true));
  return out;
}

OpDef entry(int64_t dims, Lazy<Rejects> rejects) {
  const std::string name = fmt::format("grid_sampler_{}d_backward", dims);
  return OpDef{
      .name = name,
      .signature =
          "(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, "
          "int padding_mode, bool align_corners, bool[2] output_mask) -> "
          "(Tensor, Tensor)",
      .summary = dims == 2 ? "The gradients of images read at places between their elements."
                           : "The gradients of volumes read at places between their elements.",
      .source = "aten::" + name + ", PyTorch 2.13",
      .traits = Trait::recomputable,
      .infer = [dims](const OpView& op) { return infer(op, dims); },
      .reference = [dims](const OpView& op,
                          std::span<const Array* const> in) { return reference(op, in, dims); },
      .decompose = decompose,
      .grad = grad_of_parts(decompose),
      .lower = loop::by_decomposition(),
      .cost = cost_per_operand(64),
      .samples = [dims] { return samples_of(dims); },
      .rejects = std::move(rejects),
  };
}

Rejects rejects_2d() {
  SampleAttrs linear = how(linear_mode, zeros_outside, false),
              wrong = how(linear_mode, border, true);
  linear.emplace_back("output_mask", std::vector<bool>{true, true});
  wrong[1].second = 3;
  wrong.emplace_back("output_mask", std::vector<bool>{true, true});
  const auto g = f32({1, 1, 3, 3}), x = f32({1, 1, 2, 2}), at = f32({1, 3, 3, 2});
  const std::string op = "grid_sampler_2d_backward: ";
  return {{"C1",
           {{i64({1, 1, 3, 3}), x, at}, linear},
           op + "C1: grad_output is i64[1,1,3,3], expected a floating dtype"},
          {"C2",
           {{g, f64({1, 1, 2, 2}), at}, linear},
           op + "C2: input is f64[1,1,2,2], expected the dtype of grad_output: f32"},
          {"C3",
           {{g, x, on_cuda(at)}, linear},
           op + "C3: grad_output is f32[1,1,3,3] and grid is f32[1,3,3,2]@cuda:0, expected one "
                "device"},
          {"C4",
           {{g, x, f32({1, 3, 2})}, linear},
           op + "C4: grad_output is f32[1,1,3,3], input is f32[1,1,2,2] and grid is f32[1,3,2], "
                "expected rank 4"},
          {"C5",
           {{g, f32({1, 2, 2, 2}), at}, linear},
           op + "C5: grad_output and its places: [1,1,3,3] and [1,2,3,3], expected equal shapes"},
          {"C5",
           {{g, x, f32({1, 3, 3, 3})}, linear},
           op + "C5: grid and the places of grad_output: [1,3,3,3] and [1,3,3,2], expected equal "
                "shapes"},
          {"C6",
           {{g, f32({1, 1, 0, 2}), at}, linear},
           op + "C6: dim 2 of input: f32[1,1,0,2], expected a known size above 0"},
          {"C7",
           {{g, x, at}, wrong},
           op + "C7: interpolation_mode is 0 and padding_mode 3, expected 0 to 2 and 0 to 2"}};
}

}  // namespace

CLEAVE_OPS(grid_sampler_backward) {
  return {entry(2, rejects_2d), entry(3, [] { return Rejects{}; })};
}

}  // namespace cleave
