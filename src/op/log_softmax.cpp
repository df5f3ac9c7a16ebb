// _log_softmax(self; dim, half_to_float) -> y
//   y = x - m - log(sum(exp(x - m))), m = max(x), along dim
//   self float[*s], y float[*s] of the same dtype, f32 with half_to_float; constraints: softmax.h
// A line of only -inf gives NaN, as in PyTorch. The gradient reads y, not x.
//
// _log_softmax_backward_data(grad_output, output; dim, input_dtype) -> dx
//   dx = dy - exp(y) * sum(dy)                   along dim; sums are in f32, f64 for f64
#include <cmath>

#include "op/reference_sum.h"
#include "op/softmax.h"
#include "op/wide_grad.h"

namespace cleave {
namespace {

// ---- _log_softmax

void log_softmax_line(std::span<const Array* const> in, const std::vector<int64_t>& line,
                      Array& y) {
  const std::vector<double>& x = in[0]->f;
  double top = -INFINITY;
  ReferenceSum sum;
  for (int64_t at : line) top = std::isnan(x[at]) || x[at] > top ? x[at] : top;
  for (int64_t at : line) sum += std::exp(x[at] - top);
  for (int64_t at : line) y.f[at] = x[at] - top - std::log(sum);
}

Values decompose_log_softmax(Builder& b, const OpView& op) {
  const DType y = op.out_type(0).dtype;
  const std::vector<int64_t> dims = softmax_dims(op);
  const ValueId x = b.convert(op.in(0), softmax_dtype(y));
  if (op.env().provably_equal(op.in_type(0).numel(), 0)) return {b.convert(b.exp(x), y)};
  if (dims.empty()) return {b.convert(b.sub(x, x), y)};
  const ValueId off = b.sub(x, b.amax(x, dims, true));
  return {b.convert(b.sub(off, b.log(b.sum(b.exp(off), dims, true))), y)};
}

OpDef log_softmax() {
  return OpDef{
      .name = "_log_softmax",
      .signature = "(Tensor self, int dim, bool half_to_float) -> Tensor",
      .summary = "The logarithm of _softmax, without forming it.",
      .source = "aten::_log_softmax, PyTorch 2.13",
      .traits = softmax_traits,
      .infer = infer_softmax,
      .reference = softmax_reference(forward_dtype, log_softmax_line),
      .decompose = decompose_log_softmax,
      .grad = softmax_grad("_log_softmax_backward_data"),
      .lower = loop::by_decomposition(),
      .cost = cost_per_operand(14),
      .samples = softmax_samples,
      .rejects = [] { return softmax_rejects("_log_softmax"); },
  };
}

// ---- _log_softmax_backward_data

void backward_line(std::span<const Array* const> in, const std::vector<int64_t>& line, Array& dx) {
  const std::vector<double>&dy = in[0]->f, &y = in[1]->f;
  ReferenceSum sum;
  for (int64_t at : line) sum += dy[at];
  for (int64_t at : line) dx.f[at] = dy[at] - std::exp(y[at]) * sum;
}

Values decompose_backward(Builder& b, const OpView& op) {
  const DType t = softmax_dtype(op.in_type(0).dtype), x = op.out_type(0).dtype;
  const std::vector<int64_t> dims = softmax_dims(op);
  const ValueId d = b.convert(op.in(0), t), y = b.convert(op.in(1), t);
  const ValueId sum = dims.empty() ? d : b.sum(d, dims, true);
  return {b.convert(b.sub(d, b.mul(b.exp(y), sum)), x)};
}

// With cotangent g of dx: d(dy) = g - sum(g * exp(y)),  d(y) = -g * exp(y) * sum(dy).
Values grad_backward(Builder& b, const GradView& op) {
  const DType t = op.in_type(0).dtype;
  const std::vector<int64_t> dims = softmax_dims(op);
  const ValueId g = b.convert(op.dout(0), t), p = b.mul(g, b.exp(op.in(1)));
  const auto along = [&](ValueId v) { return dims.empty() ? v : b.sum(v, dims, true); };
  Values out = op.no_grads();
  if (op.needs(0)) out[0] = b.sub(g, along(p));
  if (op.needs(1)) out[1] = b.neg(b.mul(p, along(op.in(0))));
  return out;
}

OpDef log_softmax_backward() {
  return OpDef{
      .name = "_log_softmax_backward_data",
      .signature = "(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor",
      .summary = "The cotangent of _log_softmax's operand from its result.",
      .source = "aten::_log_softmax_backward_data, PyTorch 2.13",
      .traits = softmax_traits,
      .infer = infer_softmax_backward,
      .reference = softmax_reference(backward_dtype, backward_line),
      .decompose = decompose_backward,
      .grad = wide_grad(grad_backward),
      .lower = loop::by_decomposition(),
      .cost = cost_per_operand(13),
      .samples = [] { return softmax_backward_samples(-3, 0); },
      .rejects = [] { return softmax_backward_rejects("_log_softmax_backward_data"); },
  };
}

}  // namespace

CLEAVE_OPS(log_softmax) { return {log_softmax(), log_softmax_backward()}; }

}  // namespace cleave
