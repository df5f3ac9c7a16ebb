// _fused_rms_norm_backward(grad_out, input, rstd, weight; normalized_shape, output_mask)
//   -> dx, dweight                                   norm_graph.h, without a mean
//
//   (C1..C4) layer_norm.h   (C5) grad_out has the type of input
//   (C6) rstd is floating and of input's shape with 1 for the inner dims
//   (C7) output_mask has 2 entries, and requests dweight only if there is a weight
// A result that output_mask excludes has no type. dweight has the dtype of weight.
// Source: aten::_fused_rms_norm_backward, PyTorch 2.13 (CUDA only; on the CPU it is decomposed).
#include "op/layer_norm.h"

namespace cleave {
namespace {

using loop::Expr;
using loop::Exprs;

enum Operand { at_grad_out, at_input, at_rstd, at_weight };
constexpr NormOperands operands{at_input, at_weight, at_weight};

Result<Types> infer(const OpView& op) {
  CLEAVE_CHECK(check_layer_norm(op, operands));
  const Type &x = op.in_type(at_input), &r = op.in_type(at_rstd);
  CLEAVE_CHECK(check_grad_out(op, "C5", at_grad_out, at_input));
  CLEAVE_CHECK(check_floating(op, "C6", at_rstd));
  Shape rows = x.shape;
  for (int64_t k : inner_dims(op, at_input)) rows[k] = 1;
  CLEAVE_CHECK(check_same_shape(op, "C6", "rstd and the rows of input", r.shape, rows));
  const std::vector<bool> mask = bools_attr(op, "output_mask");
  if (mask.size() != 2)
    return op.broken("C7", "output_mask has {} entries, expected 2", mask.size());
  if (mask[1] && !op.has(at_weight))
    return op.broken("C7", "output_mask asks for the gradient of weight, which is none");
  Types out = {typed_like(x, x.dtype, x.shape), Type::none()};
  if (mask[1])
    out[1] = typed_like(x, op.in_type(at_weight).dtype, op.dims_attr("normalized_shape"));
  if (!mask[0]) out[0] = Type::none();
  return out;
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  const Array& x = *in[at_input];
  const std::vector<int64_t> shape = op.ints_attr("normalized_shape");
  const int64_t inner = numel_of(shape);
  Array dx(x.dtype, x.shape), dw(in[at_weight] ? in[at_weight]->dtype : x.dtype, shape);
  const NormMap map{in[at_rstd]->numel(), inner, [=](int64_t k) { return k / inner; },
                    [=](int64_t k) { return k % inner; }, false};
  reference_norm_backward(dx, &dw, nullptr, *in[at_grad_out], x, map,
                          std::vector<double>(in[at_rstd]->f.size(), 0.0), in[at_rstd]->f,
                          in[at_weight]);
  return Arrays{dx, dw};
}

NormTerms terms_of(Builder& b, const OpView& op) {
  const DType t = norm_work(op.in_type(at_input).dtype);
  NormTerms v;
  v.statistic = inner_dims(op, at_input);
  v.parameter = row_dims(op, at_input);
  v.dy = b.convert(op.in(at_grad_out), t);
  v.x = b.convert(op.in(at_input), t);
  v.rstd = b.convert(op.in(at_rstd), t);
  if (op.has(at_weight)) v.weight = b.convert(op.in(at_weight), t);
  v.complete(b);
  return v;
}

Values decompose(Builder& b, const OpView& op) {
  const std::vector<bool> mask = bools_attr(op, "output_mask");
  NormTerms v = terms_of(b, op);
  Values out(2);
  if (mask[0]) out[0] = b.convert(v.dx(b), op.out_type(0).dtype);
  if (mask[1]) out[1] = b.convert(b.view(v.dweight(b), op.out_type(1).shape), op.out_type(1).dtype);
  return out;
}

Values grad(Builder& b, const GradView& op) {
  const NormTerms v = terms_of(b, op);
  const DType t = norm_work(op.in_type(at_input).dtype);
  const auto cotangent = [&](int k) {
    return op.dout(k).valid() ? b.convert(op.dout(k), t) : ValueId::none();
  };
  // rstd passes on the gradient that reaches it here: _fused_rms_norm differentiates it.
  const NormCotangents d =
      norm_second_order(b, v, cotangent(0), cotangent(1), ValueId::none(), false);
  Values out = op.no_grads();
  const auto give = [&](int k, ValueId x) {
    if (x.valid() && op.has(k))
      out[k] = b.convert(b.view(x, op.in_type(k).shape), op.in_type(k).dtype);
  };
  give(at_grad_out, d.dy);
  give(at_input, d.x);
  give(at_rstd, d.rstd);
  give(at_weight, d.weight);
  return out;
}

// Loops: dx row by row, then dweight column by column.
struct Loads {
  loop::KernelBuilder& k;
  int64_t first;  // first of the inner dims

  Expr rstd(const Exprs& i) const {
    Exprs s(i.begin(), i.begin() + first);
    s.resize(i.size(), Expr(0));
    return k.load(at_rstd, s);
  }
  Expr g(const Exprs& i) const {
    const Expr d = k.load(at_grad_out, i);
    return k.has(at_weight) ? d * k.load(at_weight, {i.begin() + first, i.end()}) : d;
  }
};

Sample call(DType t, std::vector<int64_t> shape, std::vector<int64_t> inner, bool has_weight,
            std::vector<bool> mask, DType parameter, DType statistic) {
  std::vector<int64_t> rows = shape;
  for (size_t k = 0; k < inner.size(); ++k) rows[rows.size() - 1 - k] = 1;
  Sample s{{sample(t, shape), sample(t, shape), sample(statistic, rows).range(0.5, 2)},
           {{"normalized_shape", inner}, {"output_mask", std::move(mask)}}};
  if (has_weight) s.operands.emplace_back(sample(parameter, inner));
  return s;
}

std::vector<Sample> samples() {
  constexpr DType f = DType::f32, bf = DType::bf16, h = DType::f16, d = DType::f64;
  const std::vector<bool> all = {true, true}, dx = {true, false}, dw = {false, true};
  return {call(f, {2, 3}, {3}, true, all, f, f),
          call(f, {1, 2}, {2}, true, all, f, f),
          call(f, {2, 2}, {2}, false, dx, f, f),
          call(f, {2, 2}, {2}, true, dx, f, f),
          call(f, {2, 2}, {2}, true, dw, f, f),
          call(f, {2, 2, 3}, {2, 3}, true, all, f, f),
          call(f, {2, 2, 3}, {2, 2, 3}, true, all, f, f),
          call(f, {2, 3, 5}, {5}, true, all, f, f),
          call(f, {6}, {6}, true, all, f, f),
          call(f, {3, 70}, {70}, true, all, f, f),
          call(f, {70, 3}, {3}, true, all, f, f),
          call(f, {3, 1}, {1}, true, all, f, f),
          call(f, {2, 3, 70}, {70}, false, dx, f, f),
          call(d, {2, 3}, {3}, true, all, d, d),
          call(d, {1, 3}, {3}, false, dx, d, d),
          call(bf, {3, 5}, {5}, true, all, bf, f),
          call(bf, {3, 20}, {20}, true, all, f, f),
          call(bf, {3, 5}, {5}, false, dx, bf, f),
          call(h, {3, 5}, {5}, true, all, h, f),
          call(h, {3, 5}, {5}, true, dw, f, f),
          call(h, {3, 5}, {5}, true, dx, h, h),
          call(f, {0, 3}, {3}, true, all, f, f),
          call(f, {2, 0}, {0}, true, all, f, f),
          call(f, {2, 0}, {0}, false, dx, f, f),
          call(f, {1}, {1}, true, all, f, f)};
}

std::vector<Reject> rejects() {
  const std::string name = "_fused_rms_norm_backward: ";
  const Sample base = call(DType::f32, {2, 3}, {3}, true, {true, false}, DType::f32, DType::f32);
  const auto with = [&](int k, SampleTensor operand) {
    Sample s = base;
    s.operands[k] = std::move(operand);
    return s;
  };
  const auto masked = [&](std::vector<bool> mask) {
    return call(DType::f32, {2, 3}, {3}, false, std::move(mask), DType::f32, DType::f32);
  };
  return {
      {"C3", with(at_weight, f32({2})),
       name + "C3: normalized_shape and weight: [3] and [2], expected equal shapes"},
      {"C5", with(at_grad_out, f64({2, 3})),
       name + "C5: grad_out is f64[2,3] for input: f32[2,3], expected its dtype"},
      {"C5", with(at_grad_out, f32({3, 3})),
       name + "C5: grad_out and input: [3,3] and [2,3], expected equal shapes"},
      {"C6", with(at_rstd, f32({2})),
       name + "C6: rstd and the rows of input: [2] and [2,1], expected equal shapes"},
      {"C6", with(at_rstd, i64({2, 1})), name + "C6: rstd is i64[2,1], expected a floating dtype"},
      {"C7", masked({true}), name + "C7: output_mask has 1 entries, expected 2"},
      {"C7", masked({true, true}),
       name + "C7: output_mask asks for the gradient of weight, which is none"}};
}

}  // namespace

CLEAVE_OPS(rms_norm_backward) {
  return {OpDef{
      .name = "_fused_rms_norm_backward",
      .signature = "(Tensor grad_out, Tensor input, int[] normalized_shape, Tensor rstd, "
                   "Tensor? weight, bool[2] output_mask) -> (Tensor, Tensor)",
      .summary = "The cotangents of _fused_rms_norm's operands.",
      .source = "aten::_fused_rms_norm_backward, PyTorch 2.13",
      .traits = Trait::reduction | Trait::fusible | Trait::recomputable,
      .infer = infer,
      .reference = reference,
      .decompose = decompose,
      .grad = grad,
      .lower = loop::by_decomposition(),
      .cost = cost_per_operand(10),
      .samples = samples,
      .rejects = rejects,
  }};
}

}  // namespace cleave
