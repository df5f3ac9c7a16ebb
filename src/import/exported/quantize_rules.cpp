// Numbers as they are when they were quantized: rounded to a step of `scale`, and clamped.
//
//   q = round(x / scale) + zero_point     y = (clamp(q, quant_min, quant_max) - zero_point) scale
//   mask = quant_min <= q <= quant_max    dx = dy where mask, else 0
//
// As in ATen's kernels 1 / scale is rounded to f32, and so is y where one scale is for all. A
// fractional zero_point is added before q is rounded.
#include "import/exported/rules.h"

namespace cleave::exported {
namespace {

using V = ValueId;

struct Grid {
  V scale, zero_point;  // 0-d, or along one dim
};

Values on_grid(Call& c, V x, const Grid& grid, DType product) {
  const auto least = static_cast<double>(c.integer("quant_min", 0)),
             most = static_cast<double>(c.integer("quant_max", 255));
  const DType t = c.type(x).dtype;
  const V inverse = c.to(c.op("reciprocal", {c.to(grid.scale, DType::f32)}), t);
  const V zero = c.to(grid.zero_point, t);
  const V steps = c.op("mul", {x, inverse});
  const bool is_fraction = is_floating(c.type(grid.zero_point).dtype);
  const V q = is_fraction ? c.op("round", {c.op("add", {steps, zero})})
                          : c.op("add", {c.op("round", {steps}), zero});
  const V mask = c.op("logical_and", {c.op("ge", {q, least}), c.op("le", {q, most})});
  const V clamped = c.op("clamp", {q, least, most});
  const V above = c.to(c.op("sub", {clamped, zero}), product);
  const V y = c.to(c.op("mul", {above, c.to(grid.scale, product)}), t);
  // the gradient of x alone, with the value 0
  const V straight = c.op("sub", {x, c.op("detach", {x})});
  return {c.op("add", {c.op("detach", {y}), c.op("where", {mask, straight, 0.0})}), mask};
}

V number(Call& c, const char* name, DType t) {
  if (c.has_tensor(name)) {
    const V v = c.tensor(name);
    return c.rank(v) == 0 ? v : c.view(v, {});
  }
  return c.op("full", {}, {{"size", Shape{}}, {"fill_value", c.floating(name, 0)}, {"dtype", t}});
}

Values per_tensor(Call& c) {
  const V x = c.tensor("self");
  const Grid grid{number(c, "scale", DType::f32), number(c, "zero_point", DType::i64)};
  Values out = on_grid(c, x, grid, DType::f32);
  if (!c.has_tensor("fake_quant_enabled")) return out;
  const V on = c.op("ne", {number(c, "fake_quant_enabled", DType::i64), 0});
  return {c.op("where", {on, out[0], x}), c.op("logical_or", {out[1], c.op("logical_not", {on})})};
}

Values per_channel(Call& c) {
  const V x = c.tensor("self");
  const int64_t rank = c.rank(x), axis = c.integer("axis", 0);
  if (axis < 0 || axis >= rank) return {c.fail("axis {} of {}", axis, c.type(x).text()), V::none()};
  const auto along = [&](const char* name) {
    Shape shape(static_cast<size_t>(rank), Dim(1));
    const V v = c.tensor(name);
    shape[static_cast<size_t>(axis)] = c.type(v).numel();
    return c.view(v, shape);
  };
  return on_grid(c, x, {along("scale"), along("zero_point")}, c.type(x).dtype);
}

template <auto rule>
Values values_alone(Call& c) {
  return {rule(c)[0]};
}

Values backward(Call& c) { return {c.op("where", {c.tensor("mask"), c.tensor("grad"), 0.0})}; }

}  // namespace

std::span<const RuleRow> quantize_rules() {
  static constexpr RuleRow rows[] = {
      {"fake_quantize_per_tensor_affine", in_f32<values_alone<per_tensor>>},
      {"fake_quantize_per_tensor_affine_cachemask", in_f32<per_tensor>},
      {"_fake_quantize_per_tensor_affine_cachemask_tensor_qparams", in_f32<per_tensor>},
      {"fake_quantize_per_channel_affine", in_f32<values_alone<per_channel>>},
      {"fake_quantize_per_channel_affine_cachemask", in_f32<per_channel>},
      {"fake_quantize_per_tensor_affine_cachemask_backward", backward},
      {"fake_quantize_per_channel_affine_cachemask_backward", backward},
  };
  return rows;
}

}  // namespace cleave::exported
