// _fused_rms_norm(input, weight; normalized_shape, eps) -> y, rstd
//
//   rstd = 1 / sqrt(mean of x^2 + eps),  y = x * rstd * w       the mean is over the inner dims
//
//   input f[*rows, *inner]   weight f[*inner] or none   y like input   rstd [*rows,1..]
//   eps  default: the distance from 1 to the next number of rstd's dtype
//   (C1..C4) layer_norm.h
// rstd is f64 for f64, else f32; both rstd and y have a gradient. One rounding: all of y is
// computed in the dtype of rstd.
// Source: aten/src/ATen/native/layer_norm.cpp (rms_norm_composite), PyTorch 2.13.
#include <cmath>
#include <limits>

#include "op/layer_norm.h"
#include "op/reference_lines.h"

namespace cleave {
namespace {

constexpr NormOperands operands{0, 1, 1};

double eps_of(const OpView& op) {
  if (op.given("eps")) return op.float_attr("eps");
  return op.in_type(0).dtype == DType::f64 ? std::numeric_limits<double>::epsilon()
                                           : std::numeric_limits<float>::epsilon();
}

Result<Types> infer(const OpView& op) {
  CLEAVE_CHECK(check_layer_norm(op, operands));
  const Type& x = op.in_type(0);
  Shape rows = x.shape;
  for (int64_t d : inner_dims(op, 0)) rows[d] = 1;
  return Types{typed_like(x, x.dtype, x.shape), typed_like(x, norm_work(x.dtype), std::move(rows))};
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  const Array& x = *in[0];
  const int64_t inner = numel_of(op.ints_attr("normalized_shape"));
  Array y(x.dtype, x.shape), rstd(op.out_type(1).dtype, static_shape(op.out_type(1)));
  const NormMap map{rstd.numel(), inner, [=](int64_t k) { return k / inner; },
                    [=](int64_t k) { return k % inner; }, false};
  double eps = x.dtype == DType::f64 ? 0x1p-52 : 0x1p-23;
  if (!op.attr("eps").is_none()) eps = op.float_attr("eps");
  const NormStatistics s = statistics_of(x, map, eps);
  rstd.f = s.rstd;
  reference_normalise(y, x, map, std::vector<double>(s.mean.size(), 0.0), s.rstd, in[1], nullptr);
  return Arrays{y, rstd};
}

Values decompose(Builder& b, const OpView& op) {
  const std::vector<int64_t> inner = inner_dims(op, 0);
  const DType y = op.out_type(0).dtype, t = norm_work(y);
  const ValueId x = b.convert(op.in(0), t), none = ValueId::none();
  const ValueId rstd = b.rsqrt(b.add(b.mean(b.mul(x, x), inner, true), eps_of(op)));
  const ValueId weight = op.has(1) ? b.convert(op.in(1), t) : none;
  return {b.convert(normalised(b, x, none, rstd, weight, none), y), rstd};
}

// The gradient that reaches the input through rstd, in the dtype of rstd.
ValueId through_result(Builder& b, const GradView& op) {
  NormTerms terms;
  terms.statistic = inner_dims(op, 0);
  terms.x = terms.off = b.convert(op.in(0), norm_work(op.in_type(0).dtype));
  terms.rstd = op.out(1);
  return through_statistics(b, terms, ValueId::none(), op.dout(1));
}

Values grad(Builder& b, const GradView& op) {
  Values out = op.no_grads();
  const bool has_through = op.needs(0) && op.dout(1).valid();
  if (has_through) out[0] = through_result(b, op);
  if (op.dout(0).valid()) {
    // If the other part is added, this one is rounded after the addition, not before.
    const DType t = norm_work(op.in_type(0).dtype);
    const auto wide = [&](ValueId v) { return has_through && v.valid() ? b.convert(v, t) : v; };
    const std::vector<bool> mask = {op.needs(0), op.has(1) && op.needs(1)};
    const Values d = b.call(
        "_fused_rms_norm_backward", {wide(op.dout(0)), wide(op.in(0)), op.out(1), wide(op.in(1))},
        {{"normalized_shape", op.dims_attr("normalized_shape")}, {"output_mask", mask}});
    for (size_t k = 0; k < d.size(); ++k)
      if (mask[k]) out[k] = sum_of(b, out[k], d[k]);
  }
  for (int k = 0; k < 2 && b.status().ok(); ++k)
    if (out[k].valid()) out[k] = b.convert(out[k], op.in_type(k).dtype);
  return out;
}

std::vector<Sample> samples() {
  const auto call = [](SampleTensor x, std::vector<int64_t> inner, SampleOperand weight,
                       std::optional<double> eps = 1e-5) {
    Sample s{{std::move(x), std::move(weight)}, {{"normalized_shape", inner}}};
    s.attrs.emplace_back("eps", eps ? AttrValue(*eps) : AttrValue());
    return s;
  };
  const std::nullopt_t none = std::nullopt;
  return {
      call(f32({2, 3}), {3}, f32({3})),
      call(f32({2, 2}), {2}, f32({2}), 0.1),
      call(f32({2, 3}), {3}, none, 0.01),
      call(f32({2, 2, 3}), {2, 3}, f32({2, 3})),
      call(f32({2, 2, 3}), {2, 2, 3}, f32({2, 2, 3})),
      call(f32({2, 3, 5}), {5}, f32({5})),
      call(f32({6}), {6}, f32({6})),
      call(f32({3, 1}), {1}, f32({1})),
      call(f32({2, 40}), {40}, f32({40})),
      call(f32({2, 2, 70}), {70}, none),
      call(f32({2, 5}).range(20, 21), {5}, none),
      call(f32({2, 5}).with({0, 1e-4, 2e-4, 0, 3e-4, 2e4, 1, 2, 3, 4}), {5}, none, std::nullopt),
      call(f64({2, 5}).with({0, 1e-8, 2e-8, 0, 3e-8, 2e4, 1, 2, 3, 4}), {5}, f64({5}),
           std::nullopt),
      call(bf16({2, 5}).with({0, 1e-4, 2e-4, 0, 3e-4, 2e4, 1, 2, 3, 4}), {5}, bf16({5}),
           std::nullopt),
      call(f64({2, 3}), {3}, f64({3})),
      call(bf16({2, 5}), {5}, bf16({5})),
      call(bf16({2, 5}), {5}, f32({5})),
      call(bf16({2, 5}), {5}, none),
      call(f16({2, 5}), {5}, f16({5})),
      call(f16({2, 5}), {5}, f32({5})),
      call(f32({2, 3}).with({1, NAN, 2, 3, 4, 5}), {3}, f32({3})),
      call(f32({2, 3}).with({1, INFINITY, 2, 3, 4, 5}), {3}, f32({3})),
      call(f32({2, 3}).with({0}), {3}, f32({3})),
      call(f32({0, 3}), {3}, f32({3})),
      call(f32({2, 0}), {0}, none)};
}

}  // namespace

CLEAVE_OPS(rms_norm) {
  return {OpDef{
      .name = "_fused_rms_norm",
      .signature = "(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> "
                   "(Tensor, Tensor)",
      .summary = "Rows brought to mean square 1, scaled; with their reciprocal root mean square.",
      .source = "aten::_fused_rms_norm, PyTorch 2.13",
      .traits = Trait::reduction | Trait::fusible | Trait::recomputable,
      .infer = infer,
      .reference = reference,
      .decompose = decompose,
      .grad = grad,
      .lower = loop::by_decomposition(),
      .cost = cost_per_operand(5),
      .samples = samples,
      .rejects = [] { return layer_norm_rejects("_fused_rms_norm", {}); },
  }};
}

}  // namespace cleave
