// _softmax(self; dim, half_to_float) -> y     y = exp(x - max(x)) / sum(exp(x - max(x))), along dim
//   self float[*s], y float[*s] of the same dtype, f32 with half_to_float; constraints: softmax.h
// A line of only -inf gives NaN, as in PyTorch. The gradient reads y, not x.
//
// _softmax_backward_data(grad_output, output; dim, input_dtype) -> dx
//   dx = (dy - sum(dy * y)) * y               along dim; sums are in f32, f64 for f64
// It is linear and symmetric in dy, so its gradient with respect to dy is the same operator.
#include <cmath>

#include "op/reference_sum.h"
#include "op/softmax.h"
#include "op/wide_grad.h"

namespace cleave {
namespace {

// ---- _softmax

void softmax_line(std::span<const Array* const> in, const std::vector<int64_t>& line, Array& y) {
  const std::vector<double>& x = in[0]->f;
  double top = -INFINITY;
  ReferenceSum sum;
  for (int64_t at : line) top = std::isnan(x[at]) || x[at] > top ? x[at] : top;
  for (int64_t at : line) sum += y.f[at] = std::exp(x[at] - top);
  for (int64_t at : line) y.f[at] /= sum;
}

Values decompose_softmax(Builder& b, const OpView& op) {
  const DType y = op.out_type(0).dtype;
  const std::vector<int64_t> dims = softmax_dims(op);
  const ValueId x = b.convert(op.in(0), softmax_dtype(y));
  if (op.env().provably_equal(op.in_type(0).numel(), 0)) return {b.convert(b.exp(x), y)};
  if (dims.empty()) return {b.convert(b.exp(b.sub(x, x)), y)};
  const ValueId e = b.exp(b.sub(x, b.amax(x, dims, true)));
  // Multiplies each element by a reciprocal, which costs a tenth of a division.
  return {b.convert(b.mul(e, b.reciprocal(b.sum(e, dims, true))), y)};
}

OpDef softmax() {
  return OpDef{
      .name = "_softmax",
      .signature = "(Tensor self, int dim, bool half_to_float) -> Tensor",
      .summary = "Exponentials along a dim, scaled to add up to 1.",
      .source = "aten::_softmax, PyTorch 2.13",
      .traits = softmax_traits,
      .infer = infer_softmax,
      .reference = softmax_reference(forward_dtype, softmax_line),
      .decompose = decompose_softmax,
      .grad = softmax_grad("_softmax_backward_data"),
      .lower = loop::by_decomposition(),
      .cost = cost_per_operand(25),
      .samples = softmax_samples,
      .rejects = [] { return softmax_rejects("_softmax"); },
  };
}

// ---- _softmax_backward_data

void backward_line(std::span<const Array* const> in, const std::vector<int64_t>& line, Array& dx) {
  const std::vector<double>&dy = in[0]->f, &y = in[1]->f;
  ReferenceSum sum;
  for (int64_t at : line) sum += dy[at] * y[at];
  for (int64_t at : line) dx.f[at] = (dy[at] - sum) * y[at];
}

Values decompose_backward(Builder& b, const OpView& op) {
  const DType t = softmax_dtype(op.in_type(0).dtype), x = op.out_type(0).dtype;
  const std::vector<int64_t> dims = softmax_dims(op);
  const ValueId d = b.convert(op.in(0), t), y = b.convert(op.in(1), t);
  const ValueId product = b.mul(d, y);
  const ValueId sum = dims.empty() ? product : b.sum(product, dims, true);
  return {b.convert(b.mul(b.sub(d, sum), y), x)};
}

// With cotangent g of dx: d(dy) = (g - sum(g*y)) * y,  d(y) = (dy - sum(dy*y)) * g - dy * sum(g*y).
Values grad_backward(Builder& b, const GradView& op) {
  const DType t = op.in_type(0).dtype;
  const std::vector<int64_t> dims = softmax_dims(op);
  const ValueId g = b.convert(op.dout(0), t), d = op.in(0), y = op.in(1);
  const auto along = [&](ValueId v) { return dims.empty() ? v : b.sum(v, dims, true); };
  Values out = op.no_grads();
  if (op.needs(0))
    out[0] = b.call1("_softmax_backward_data", {g, y},
                     {{"dim", op.int_attr("dim")}, {"input_dtype", t}});
  if (op.needs(1))
    out[1] = b.sub(b.mul(b.sub(d, along(b.mul(d, y))), g), b.mul(d, along(b.mul(g, y))));
  return out;
}

OpDef softmax_backward() {
  return OpDef{
      .name = "_softmax_backward_data",
      .signature = "(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor",
      .summary = "The cotangent of _softmax's operand from its result.",
      .source = "aten::_softmax_backward_data, PyTorch 2.13",
      .traits = softmax_traits,
      .infer = infer_softmax_backward,
      .reference = softmax_reference(backward_dtype, backward_line),
      .decompose = decompose_backward,
      .grad = wide_grad(grad_backward),
      .lower = loop::by_decomposition(),
      .cost = cost_per_operand(4),
      .samples = [] { return softmax_backward_samples(0, 1); },
      .rejects = [] { return softmax_backward_rejects("_softmax_backward_data"); },
  };
}

}  // namespace

CLEAVE_OPS(softmax) { return {softmax(), softmax_backward()}; }

}  // namespace cleave
