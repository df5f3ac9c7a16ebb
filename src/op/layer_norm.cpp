// native_layer_norm(input, weight, bias; normalized_shape, eps) -> y, mean, rstd
//
//   mean = mean of x,  rstd = 1 / sqrt(mean of (x - mean)^2 + eps),  y = (x - mean) * rstd * w + b
//
//   input f[*rows, *inner], weight and bias f[*inner] or none; y like input; mean, rstd [*rows,1..]
//   (C1..C4) layer_norm.h
// mean and rstd are f32 if weight or bias is f32 with a bf16 or f16 input, and on CUDA; otherwise
// they have the input's dtype. They have no gradient. If a row has no elements, mean is 0 and rstd
// NaN; with an infinite element both are NaN.
// Source: aten/src/ATen/native/layer_norm.cpp, PyTorch 2.13.
#include "op/layer_norm.h"

#include <cmath>
#include <numeric>

#include "op/reference_lines.h"
#include "op/reference_sum.h"

namespace cleave {

Status check_layer_norm(const OpView& op, const NormOperands& at) {
  const Type& x = op.in_type(at.input);
  const Shape inner = op.dims_attr("normalized_shape");
  if (inner.empty()) return op.broken("C1", "normalized_shape is [], expected at least one dim");
  if (std::ssize(inner) > x.rank())
    return op.broken("C2", "normalized_shape {} has more dims than input: {}", shape_text(inner),
                     x.text());
  CLEAVE_CHECK(check_same_shape(op, "C2", "normalized_shape and the last dims of input", inner,
                                Shape(x.shape.end() - std::ssize(inner), x.shape.end())));
  CLEAVE_CHECK(check_floating(op, "C4", at.input));
  for (int k : {at.weight, at.bias}) {
    if (!op.has(k)) continue;
    CLEAVE_CHECK(check_same_shape(op, "C3",
                                  fmt::format("normalized_shape and {}", operand_name(op, k)),
                                  inner, op.in_type(k).shape));
    CLEAVE_CHECK(check_parameter_dtype(op, at.input, k));
  }
  return {};
}

std::vector<int64_t> row_dims(const OpView& op, int input) {
  const auto inner = static_cast<int64_t>(op.dims_attr("normalized_shape").size());
  std::vector<int64_t> dims(static_cast<size_t>(op.in_type(input).rank() - inner));
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}

std::vector<int64_t> inner_dims(const OpView& op, int input) {
  const auto inner = static_cast<int64_t>(op.dims_attr("normalized_shape").size());
  std::vector<int64_t> dims(static_cast<size_t>(inner));
  std::iota(dims.begin(), dims.end(), op.in_type(input).rank() - inner);
  return dims;
}

std::vector<Reject> layer_norm_rejects(const std::string& name, const std::vector<bool>& mask) {
  const auto call = [&](SampleTensor x, SampleOperand weight, std::vector<int64_t> inner) {
    const std::vector<int64_t> row(x.type.shape.size(), 1);
    if (mask.empty())
      return Sample{{std::move(x), std::move(weight)},
                    {{"normalized_shape", inner}, {"eps", 1e-5}}};
    return Sample{{x, x, f32(row), f32(row), std::move(weight)},
                  {{"normalized_shape", inner}, {"output_mask", mask}}};
  };
  return {{"C1", call(f32({2, 3}), std::nullopt, {}),
           name + ": C1: normalized_shape is [], expected at least one dim"},
          {"C2", call(f32({3}), std::nullopt, {2, 3}),
           name + ": C2: normalized_shape [2,3] has more dims than input: f32[3]"},
          {"C2", call(f32({2, 3}), std::nullopt, {2}),
           name + ": C2: normalized_shape and the last dims of input: [2] and [3], expected equal "
                  "shapes"},
          {"C3", call(f32({2, 3}), f32({2}), {3}),
           name + ": C3: normalized_shape and weight: [3] and [2], expected equal shapes"},
          {"C4", call(i64({2, 3}), std::nullopt, {3}),
           name + ": C4: input is i64[2,3], expected a floating dtype"},
          {"C4", call(f32({2, 3}), f64({3}), {3}),
           name + ": C4: weight is f64[3] for input: f32[2,3], expected its dtype"},
          {"C4", call(bf16({2, 3}), f16({3}), {3}),
           name + ": C4: weight is f16[3] for input: bf16[2,3], expected its dtype or f32"}};
}

namespace {

constexpr NormOperands operands{0, 1, 2};

Result<Types> infer_layer_norm(const OpView& op) {
  CLEAVE_CHECK(check_layer_norm(op, operands));
  const Type& x = op.in_type(0);
  DType statistic = x.dtype;
  for (int k : {operands.weight, operands.bias})
    if (op.has(k) && op.in_type(k).dtype == DType::f32) statistic = DType::f32;
  if (x.device.kind == DeviceKind::cuda) statistic = norm_dtype(x.dtype);
  Shape rows = x.shape;
  for (int64_t d : inner_dims(op, 0)) rows[d] = 1;
  const Type s = typed_like(x, statistic, std::move(rows));
  return Types{typed_like(x, x.dtype, x.shape), s, s};
}

Result<Arrays> reference_layer_norm(const OpView& op, std::span<const Array* const> in) {
  const Array& x = *in[0];
  const size_t inner = op.ints_attr("normalized_shape").size();
  std::vector<bool> folded(x.shape.size(), false);
  for (size_t k = 0; k < inner; ++k) folded[x.shape.size() - 1 - k] = true;
  DType statistic = x.dtype;
  for (const Array* p : {in[1], in[2]})
    if (p && p->dtype == DType::f32) statistic = DType::f32;
  if (op.in_type(0).device.kind == DeviceKind::cuda && x.dtype != DType::f64)
    statistic = DType::f32;
  Array y(x.dtype, x.shape), mean(statistic, kept_shape(x.shape, folded, true)), rstd = mean;
  for_each_line(x.shape, folded, [&](int64_t row, const std::vector<int64_t>& line) {
    const auto count = static_cast<double>(line.size());
    ReferenceSum sum, squares;
    for (int64_t at : line) sum += x.f[at];
    const double m = line.empty() ? 0 : std::isinf(static_cast<double>(sum)) ? NAN : sum / count;
    for (int64_t at : line) squares += (x.f[at] - m) * (x.f[at] - m);
    const double r = 1 / std::sqrt(squares / count + op.float_attr("eps"));
    for (size_t j = 0; j < line.size(); ++j)
      y.f[line[j]] = (x.f[line[j]] - m) * r * (in[1] ? in[1]->f[j] : 1) + (in[2] ? in[2]->f[j] : 0);
    mean.f[row] = m;
    rstd.f[row] = r;
  });
  return Arrays{y, mean, rstd};
}

Values decompose_layer_norm(Builder& b, const OpView& op) {
  const std::vector<int64_t> inner = inner_dims(op, 0);
  const DType y = op.out_type(0).dtype, statistic = op.out_type(1).dtype, t = norm_dtype(y);
  const ValueId x = b.convert(op.in(0), t);
  const bool of_nothing = op.env().provably_equal(count_along(op.in_type(0).shape, inner), 0);
  // An offset common to all elements, removed first, costs no precision; with an infinite one the
  // mean is NaN.
  const ValueId rough = of_nothing ? b.sum(x, inner, true) : b.mean(x, inner, true);
  const ValueId mean = of_nothing ? rough : b.add(rough, b.mean(b.sub(x, rough), inner, true));
  const ValueId off = b.sub(x, mean);
  const ValueId variance = b.mean(b.mul(off, off), inner, true);
  const ValueId rstd = b.rsqrt(b.add(variance, op.float_attr("eps")));
  ValueId out = b.mul(off, rstd);
  if (op.has(1)) out = b.mul(out, b.convert(op.in(1), t));
  if (op.has(2)) out = b.add(out, b.convert(op.in(2), t));
  return {b.convert(out, y), b.convert(mean, statistic), b.convert(rstd, statistic)};
}

Values grad_layer_norm(Builder& b, const GradView& op) {
  Values out = op.no_grads();
  const std::vector<bool> mask = {op.needs(0), op.has(1) && op.needs(1), op.has(2) && op.needs(2)};
  const std::vector<Dim> inner = op.dims_attr("normalized_shape");
  const Values d = b.call("native_layer_norm_backward",
                          {op.dout(0), op.in(0), op.out(1), op.out(2), op.in(1), op.in(2)},
                          {{"normalized_shape", inner}, {"output_mask", mask}});
  for (size_t k = 0; k < d.size(); ++k)
    if (mask[k]) out[k] = d[k];
  return out;
}

std::vector<Sample> samples() {
  const auto call = [](SampleTensor x, std::vector<int64_t> inner, SampleOperand weight,
                       SampleOperand bias, double eps = 1e-5) {
    return Sample{{std::move(x), std::move(weight), std::move(bias)},
                  {{"normalized_shape", inner}, {"eps", eps}}};
  };
  const std::nullopt_t none = std::nullopt;
  return {call(f32({2, 3}), {3}, f32({3}), f32({3})),
          call(f32({2, 2}), {2}, f32({2}), none, 0.1),
          call(f32({2, 3}), {3}, none, none, 0.01),
          call(f32({3, 4}), {4}, none, f32({4})),
          call(f32({2, 2, 3}), {2, 3}, f32({2, 3}), f32({2, 3})),
          call(f32({2, 3, 5}), {5}, f32({5}), f32({5})),
          call(f32({6}), {6}, f32({6}), f32({6})),
          call(f32({2, 40}), {40}, f32({40}), f32({40})),
          call(f32({2, 5}).range(20, 21), {5}, none, none),
          call(f64({2, 3}), {3}, f64({3}), f64({3})),
          call(bf16({2, 5}), {5}, bf16({5}), bf16({5})),
          call(bf16({2, 5}), {5}, f32({5}), f32({5})),
          call(f16({2, 5}), {5}, f16({5}), none),
          call(f16({2, 5}), {5}, none, f32({5})),
          call(f32({0, 3}), {3}, f32({3}), f32({3})),
          call(f32({2, 0}), {0}, none, none),
          call(bf16({2, 0}), {0}, bf16({0}), bf16({0})),
          call(f32({2, 0, 3}), {0, 3}, f32({0, 3}), none),
          call(f32({0, 2, 3}), {2, 3}, f32({2, 3}), f32({2, 3})),
          call(f32({3, 1}), {1}, f32({1}), f32({1})),
          call(f32({2, 3, 2}), {2, 3, 2}, f32({2, 3, 2}), f32({2, 3, 2})),
          call(f32({2, 3}).with({1, NAN, 2, 3, 4, 5}), {3}, f32({3}), f32({3})),
          call(f32({2, 3}).with({1, INFINITY, 2, 3, 4, 5}), {3}, f32({3}), f32({3})),
          call(f32({2, 4}).ties(1), {4}, f32({4}), f32({4})),
          call(f64({2, 3}), {3}, f64({3}), none, 0),
          call(bf16({2, 3, 4}), {3, 4}, bf16({3, 4}), none),
          call(f16({2, 3}), {3}, f32({3}), none)};
}

OpDef layer_norm() {
  return OpDef{
      .name = "native_layer_norm",
      .signature =
          "(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, "
          "float eps) -> (Tensor, Tensor, Tensor)",
      .summary =
          "Rows brought to mean 0 and variance 1, scaled and shifted; with their mean and "
          "reciprocal deviation.",
      .source = "aten::native_layer_norm, PyTorch 2.13",
      .traits = Trait::reduction | Trait::fusible | Trait::recomputable,
      .infer = infer_layer_norm,
      .reference = reference_layer_norm,
      .decompose = decompose_layer_norm,
      .grad = grad_layer_norm,
      .lower = loop::by_decomposition(),
      .cost = cost_per_operand(8),
      .samples = samples,
      .rejects = [] { return layer_norm_rejects("native_layer_norm", {}); },
      .nondifferentiable = 0b110,
  };
}

}  // namespace

CLEAVE_OPS(layer_norm) { return {layer_norm()}; }

}  // namespace cleave
