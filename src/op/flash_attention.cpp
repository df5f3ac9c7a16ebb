// PyTorch's attention for the CPU, as it appears in exported and joint graphs.
//
// _scaled_dot_product_flash_attention_for_cpu(query, key, value, attn_mask; dropout_p, is_causal,
//                                             scale) -> y, logsumexp
//   query float[n,h,rows,width]  key float[n,h,columns,width]  value float[n,h,columns,value_width]
//              key and value may have fewer heads, a divisor of h: adjacent heads share one
//   y          as scaled_dot_product_attention (attention.cpp)
//   logsumexp  [n,h,rows] = log(sum(exp(scores))), 0 for a fully masked row; f64 for
//              f64, else f32
//
// _scaled_dot_product_flash_attention_for_cpu_backward(grad_out, query, key, value, out, logsumexp,
//                                        attn_mask; dropout_p, is_causal, scale) -> dq, dk, dv
//   P = exp(scores - logsumexp)      dV = P^T g        dP = g V^T
//   dS = P (dP - sum(g out))         dQ = scale dS K   dK = scale dS^T Q
//   PyTorch's own decomposition of the forward passes the weights P [n,h,rows,columns] instead of
//   logsumexp; they are then used directly.
//
//   (C1) to (C10): attention.h, and
//   (C11) query has rank 4   (C12) dropout_p is 0   (C13) grad_out and out have the shape of y
//   (C14) logsumexp is [n,h,rows] or [n,h,rows,columns]
#include <cmath>

#include "op/attention.h"
#include "op/cost.h"
#include "op/dims.h"
#include "op/efficient_attention.h"
#include "op/entry.h"
#include "op/reference_sum.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

constexpr int grad_out = 0, out = 4, logsumexp = 5;  // operands of the backward

AttentionView forward_call(const OpView& op) { return {op, 0, 3}; }
AttentionView backward_call(const OpView& op) { return {op, 1, 6}; }

Result<AttentionShape> checked_flash(const AttentionView& call) {
  CLEAVE_TRY(AttentionShape s, checked_attention(call));
  const OpView& op = call.op;
  if (call.type(0).rank() != 4)
    return op.broken("C11", "query is {}, expected rank 4", call.type(0).text());
  if (op.float_attr("dropout_p") != 0)
    return op.broken("C12", "dropout_p is {}, expected 0", op.attr("dropout_p").text());
  return s;
}

Shape sums_shape(const AttentionShape& s) {
  Shape shape = s.batch;
  shape.push_back(s.rows);
  return shape;
}

Result<Types> infer(const OpView& op) {
  CLEAVE_TRY(const AttentionShape s, checked_flash(forward_call(op)));
  const Type& q = op.in_type(0);
  return Types{typed_like(q, q.dtype, s.with(s.rows, s.value_width)),
               typed_like(q, forward_call(op).work(), sums_shape(s))};
}

Result<Types> infer_backward(const OpView& op) {
  const AttentionView call = backward_call(op);
  CLEAVE_TRY(const AttentionShape s, checked_flash(call));
  const Shape y = s.with(s.rows, s.value_width);
  CLEAVE_CHECK(
      check_same_shape(op, "C13", "grad_out and the result", op.in_type(grad_out).shape, y));
  CLEAVE_CHECK(check_same_shape(op, "C13", "out and the result", op.in_type(out).shape, y));
  const Shape& sums = op.in_type(logsumexp).shape;
  CLEAVE_CHECK(check_same_shape(op, "C14", "logsumexp and the rows", sums,
                                std::ssize(sums) == 4 ? s.with(s.rows, s.columns) : sums_shape(s)));
  Types types;
  for (int k = 0; k < 3; ++k)
    types.push_back(typed_like(call.type(k), call.type(k).dtype, call.type(k).shape));
  return types;
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  const Array& value = *in[2];
  const ScoreRows scores(op, *in[0], *in[1], value, op.has(3) ? in[3] : nullptr);
  Array y(in[0]->dtype, static_shape(op.out_type(0)));
  Array sums(op.out_type(1).dtype, static_shape(op.out_type(1)));
  const int64_t rows = scores.rows(), width = value.shape.back();
  std::vector<int64_t> at(scores.batch().size(), 0);
  for (int64_t n = 0; n < numel_of(scores.batch()); ++n, next_index(at, scores.batch()))
    for (int64_t i = 0; i < rows; ++i) {
      std::vector<double> weights = scores.row(at, i);
      sums.f[n * rows + i] = softmax_row(weights);
      for (int64_t j = 0; j < scores.columns(); ++j)
        for (int64_t e = 0; e < width; ++e)
          y.f[(n * rows + i) * width + e] +=
              weights[j] * value.f[scores.value_at(at) + j * width + e];
    }
  return Arrays{std::move(y), std::move(sums)};
}

// The weights of row i of batch n, computed from logsumexp or read as passed.
std::vector<double> given_weights(const ScoreRows& scores, const std::vector<int64_t>& at,
                                  const Array& sums, int64_t n, int64_t i) {
  std::vector<double> weights = scores.row(at, i);
  const int64_t line = n * scores.rows() + i;
  for (int64_t j = 0; j < scores.columns(); ++j)
    weights[j] = sums.rank() == 4 ? sums.f[line * scores.columns() + j]
                                  : std::exp(weights[j] - sums.f[line]);
  return weights;
}

Result<Arrays> reference_backward(const OpView& op, std::span<const Array* const> in) {
  const Array &g = *in[0], &q = *in[1], &k = *in[2], &v = *in[3], &y = *in[4];
  const ScoreRows scores(op, q, k, v, op.has(6) ? in[6] : nullptr);
  Array dq(q.dtype, q.shape), dk(k.dtype, k.shape), dv(v.dtype, v.shape);
  ReferenceSums dq_sum(q.f.size()), dk_sum(k.f.size()), dv_sum(v.f.size());
  const int64_t rows = scores.rows(), width = q.shape.back(), value_width = v.shape.back();
  std::vector<int64_t> at(scores.batch().size(), 0);
  for (int64_t n = 0; n < numel_of(scores.batch()); ++n, next_index(at, scores.batch()))
    for (int64_t i = 0; i < rows; ++i) {
      const std::vector<double> weights = given_weights(scores, at, *in[5], n, i);
      const int64_t q0 = scores.query_at(at) + i * width, g0 = (n * rows + i) * value_width;
      ReferenceSum own;
      for (int64_t e = 0; e < value_width; ++e) own += g.f[g0 + e] * y.f[g0 + e];
      for (int64_t j = 0; j < scores.columns(); ++j) {
        const int64_t k0 = scores.key_at(at) + j * width,
                      v0 = scores.value_at(at) + j * value_width;
        ReferenceSum dweight;
        for (int64_t e = 0; e < value_width; ++e) {
          dweight += g.f[g0 + e] * v.f[v0 + e];
          dv_sum[v0 + e] += weights[j] * g.f[g0 + e];
        }
        const double dscore = weights[j] * (dweight - own) * scores.scale();
        for (int64_t e = 0; e < width; ++e) {
          dq_sum[q0 + e] += dscore * k.f[k0 + e];
          dk_sum[k0 + e] += dscore * q.f[q0 + e];
        }
      }
    }
  dq.f = rounded(dq_sum);
  dk.f = rounded(dk_sum);
  dv.f = rounded(dv_sum);
  return Arrays{std::move(dq), std::move(dk), std::move(dv)};
}

Values decompose(Builder& b, const OpView& op) {
  const AttentionView call = forward_call(op);
  const AttentionParts p = attention_parts(b, call);
  const DType t = product_dtype(call, p.shape);
  const ValueId weights = b.convert(without_batch(b, attention_weights(b, call, p.scores)), t);
  const ValueId y = with_batch(b, p.shape, b.bmm(weights, factor(b, call, p, 2, t)));
  return {b.convert(y, call.type(0).dtype), log_sums(b, p.scores)};
}

ValueId flipped(Builder& b, ValueId x) { return b.permute(x, {0, 2, 1}); }

Values decompose_backward(Builder& b, const OpView& op) {
  const AttentionView call = backward_call(op);
  const AttentionParts p = attention_parts(b, call, ScoresFor::backward);
  const AttentionShape& s = p.shape;
  const DType work = call.work();
  ValueId weights = b.convert(op.in(logsumexp), work);
  if (op.in_type(logsumexp).rank() == 3) weights = b.exp(b.sub(p.scores, b.unsqueeze(weights, -1)));
  weights = without_batch(b, weights);
  const ValueId g = without_batch(b, b.convert(op.in(grad_out), work));
  const ValueId dweights = b.bmm(g, flipped(b, p.value));
  const ValueId own = b.sum(b.mul(g, without_batch(b, b.convert(op.in(out), work))), {-1}, true);
  const DType t = product_dtype(call, s);
  const ValueId dscores = b.convert(b.mul(b.mul(weights, b.sub(dweights, own)), call.scale()), t);
  const ValueId given = t == work ? g : without_batch(b, b.convert(op.in(grad_out), t));
  return {from_flat(b, s, b.bmm(dscores, factor(b, call, p, 1, t)), 1, call.type(0)),
          from_flat(b, s, b.bmm(flipped(b, dscores), factor(b, call, p, 0, t)), s.key_group,
                    call.type(1)),
          from_flat(b, s, b.bmm(flipped(b, b.convert(weights, t)), given), s.value_group,
                    call.type(2))};
}

Values grad_of_sums(Builder& b, const GradView& op) {
  const AttentionView call = forward_call(op);
  return sums_grad(b, call, b.convert(op.out(1), call.work()), b.convert(op.dout(1), call.work()));
}

// ATen's backward of this form has no gradient of the mask; that of the efficient form has.
Values grads_with_mask(Builder& b, const GradView& op) {
  const AttentionView call = forward_call(op);
  const AttentionShape s = attention_shape(call);
  const ValueId zero = b.full({}, 0, DType::i64);
  const std::vector<bool> wanted = {op.needs(0), op.needs(1), op.needs(2), true};
  return b.call("_scaled_dot_product_efficient_attention_backward",
                {op.dout(0), op.in(0), op.in(1), op.in(2),
                 whole_mask(b, op.in(3), s.with(s.rows, s.columns), call.work()), op.out(0),
                 padded_sums(b, op.out(1)), zero, zero},
                {{"dropout_p", 0.0},
                 {"grad_input_mask", wanted},
                 {"is_causal", op.bool_attr("is_causal")},
                 {"scale", op.attr("scale")}});
}

Values grad(Builder& b, const GradView& op) {
  Values d = op.no_grads();
  const ValueId mask = op.has(3) ? op.in(3) : ValueId::none();
  const bool wants_mask = op.has(3) && op.needs(3);
  const auto of_mask = [&](ValueId dscores) {
    const Type& m = op.in_type(3);
    return b.convert(b.sum_to(dscores, m.shape), m.dtype);
  };
  if (!op.dout(1).is_none()) {
    const Values by_sums = grad_of_sums(b, op);
    for (int k = 0; k < 2; ++k)
      if (op.needs(k)) d[k] = by_sums[k];
    if (wants_mask) d[3] = of_mask(by_sums[2]);
  }
  if (op.dout(0).is_none()) return d;
  Values grads =
      wants_mask ? grads_with_mask(b, op)
                 : b.call(op.name() + "_backward",
                          {op.dout(0), op.in(0), op.in(1), op.in(2), op.out(0), op.out(1), mask},
                          {{"dropout_p", op.float_attr("dropout_p")},
                           {"is_causal", op.bool_attr("is_causal")},
                           {"scale", op.attr("scale")}});
  if (wants_mask && grads.size() == 4) grads[3] = of_mask(grads[3]);
  for (size_t k = 0; k < grads.size(); ++k)
    if (op.needs(static_cast<int>(k))) d[k] = d[k].valid() ? b.add(d[k], grads[k]) : grads[k];
  return d;
}

Values grad_of_backward(Builder& b, const GradView& op) {
  const AttentionView call = backward_call(op);
  const bool weights = op.in_type(logsumexp).rank() == 4;
  BackwardInputs in;
  in.dout = op.in(grad_out);
  in.out = op.in(out);
  (weights ? in.weights : in.sums) = b.convert(op.in(logsumexp), call.work());
  const BackwardGrads g = backward_grads(b, call, in, {op.dout(0), op.dout(1), op.dout(2)});
  Values d = {g.dout, g.query, g.key, g.value, g.out, weights ? g.weights : g.sums};
  if (d[logsumexp].valid()) d[logsumexp] = b.convert(d[logsumexp], op.in_type(logsumexp).dtype);
  d.resize(op.inputs().size());
  if (op.has(call.mask) && op.needs(call.mask) && g.scores.valid()) {
    const Type& m = op.in_type(call.mask);
    d[static_cast<size_t>(call.mask)] = b.convert(b.sum_to(g.scores, m.shape), m.dtype);
  }
  return d;
}

CostFn cost(AttentionView (*call_of)(const OpView&), int64_t products) {
  return [call_of, products](const OpView& op) {
    const AttentionShape s = attention_shape(call_of(op));
    Dim weights = s.rows * s.columns;
    for (const Dim& d : s.batch) weights = weights * d;
    return Cost{op.env().hint_of(weights * (s.width + s.value_width)) * products, bytes_moved(op)};
  };
}

constexpr Trait traits = Trait::compute_intensive | Trait::recomputable;

// Halves whose rows are whole vectors, with masks of bools and of halves: a GPU has one kernel for
// them. Of the first mask, the first row is closed.
struct HalfSample {
  SampleTensor rows, columns, sums, mask;
};
std::vector<HalfSample> masked_halves() {
  std::vector<double> first_closed(24, 0);
  for (int k = 0; k < 48; ++k) first_closed.push_back(k % 5 == 0 ? 0 : 1);
  std::vector<HalfSample> out;
  for (const DType t : {DType::bf16, DType::f16}) {
    const SampleTensor rows = any_of(t, {2, 2, 10, 8}), columns = any_of(t, {2, 2, 24, 8}),
                       sums = f32({2, 2, 10}).range(3, 4);
    out.push_back({rows, columns, sums, boolean({2, 1, 10, 24}).with(first_closed)});
    out.push_back({rows, columns, sums, boolean({2, 1, 1, 24}).with({1, 1, 0, 1, 1})});
    out.push_back({rows, columns, sums, sample(t, {1, 2, 10, 24}).with({0, -1, -INFINITY, 2, 1})});
  }
  return out;
}

Samples forward_samples() {
  const auto same = [](DType t, std::vector<int64_t> s) {
    return std::vector<SampleOperand>(3, SampleOperand(any_of(t, std::move(s))));
  };
  Samples out;
  for (DType t : floating_dtypes) out.push_back({same(t, {1, 2, 3, 4}), {{"is_causal", true}}});
  out.push_back({{f32({2, 2, 3, 4}), f32({2, 2, 5, 4}), f32({2, 2, 5, 6})}, {{"scale", 0.4}}});
  out.push_back({{f32({1, 1, 2, 3}), f32({1, 1, 2, 3}), f32({1, 1, 2, 3}),
                  boolean({2, 2}).with({1, 0, 0, 0})}});
  std::vector<SampleOperand> masked = same(DType::f64, {1, 2, 3, 2});
  masked.push_back(f64({3, 3}).with({0, 1, 2, -INFINITY, 0.5, 1, -1, 0, 0}));
  out.push_back({masked});
  // A mask has no gradient; finite differences can't handle these values.
  const std::vector<double> closing = {0, 1, 2, -INFINITY, 0.5, 1, -1};
  for (DType t : floating_dtypes) {
    out.push_back({{any_of(t, {2, 1, 2, 3}), any_of(t, {2, 1, 4, 3}), any_of(t, {2, 1, 4, 3})},
                   {{"is_causal", true}, {"scale", 0.5}}});
    out.push_back({{any_of(t, {1, 2, 3, 2}), any_of(t, {1, 2, 5, 2}), any_of(t, {1, 2, 5, 2}),
                    sample(t, {3, 5}).with(closing)}});
  }
  const auto with_mask = [&](std::vector<int64_t> mask) {
    out.push_back({{f32({2, 2, 3, 4}), f32({2, 2, 5, 4}), f32({2, 2, 5, 4}),
                    f32(std::move(mask)).with(closing)}});
  };
  with_mask({2, 2, 3, 5});
  with_mask({2, 1, 3, 5});
  with_mask({1, 2, 3, 5});
  with_mask({1, 1, 1, 5});
  for (bool causal : {false, true})
    out.push_back(
        {{f32({2, 4, 3, 2}), f32({2, 2, 3, 2}), f32({2, 2, 3, 2})}, {{"is_causal", causal}}});
  out.push_back({same(DType::f32, {1, 1, 1, 1})});
  out.push_back({same(DType::f32, {1, 1, 40, 4}), {{"is_causal", true}}});
  out.push_back({same(DType::bf16, {1, 1, 33, 6})});
  for (const HalfSample& x : masked_halves())
    out.push_back({{x.rows, x.columns, x.columns, x.mask}});
  out.push_back(
      {{f32({1, 1, 2, 2}).range(-30, 30), f32({1, 1, 3, 2}).range(-30, 30), f32({1, 1, 3, 2})}});
  return out;
}

OpDef flash_forward() {
  const std::string name = "_scaled_dot_product_flash_attention_for_cpu";
  return OpDef{
      .name = name,
      .signature =
          "(Tensor query, Tensor key, Tensor value, float dropout_p=0.0, "
          "bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) "
          "-> (Tensor, Tensor)",
      .summary = "Attention and the logarithms of its sums.",
      .source = "aten::_scaled_dot_product_flash_attention_for_cpu, PyTorch 2.13",
      .traits = traits,
      .infer = infer,
      .reference = reference,
      .decompose = decompose,
      .grad = grad,
      .lower = loop::library([](const OpView& op) { return attention_form(forward_call(op)); }),
      .cost = cost(forward_call, 2),
      .samples = forward_samples,
      .rejects = [=]() -> Rejects {
        const SampleTensor x = f32({1, 2, 3, 4});
        return {{"C11",
                 {{f32({2, 3, 4}), f32({2, 3, 4}), f32({2, 3, 4})}},
                 name + ": C11: query is f32[2,3,4], expected rank 4"},
                {"C12",
                 {{x, x, x}, {{"dropout_p", 0.5}}},
                 name + ": C12: dropout_p is 0.5, expected 0"}};
      },
  };
}

SampleAttrs flash_attrs(bool is_causal) { return {{"dropout_p", 0.0}, {"is_causal", is_causal}}; }

Samples backward_samples() {
  const SampleAttrs plain = flash_attrs(false), causal = flash_attrs(true);
  Samples out;
  for (DType t : floating_dtypes) {
    const SampleTensor x = any_of(t, {1, 2, 3, 4});
    out.push_back(
        {{x, x, x, x, x, sample(t == DType::f64 ? t : DType::f32, {1, 2, 3}).range(1, 2)}, causal});
  }
  const SampleTensor y = f32({2, 2, 3, 6}), q = f32({2, 2, 3, 4}), k = f32({2, 2, 5, 4}),
                     v = f32({2, 2, 5, 6}), sums = f32({2, 2, 3}).range(1, 2);
  out.push_back({{y, q, k, v, y, sums}, plain});
  out.push_back({{y, q, k, v, y, f32({2, 2, 3, 5}).range(0, 1)}, causal});
  out.push_back({{y, q, k, v, y, sums, f32({3, 5})},
                 {{"dropout_p", 0.0}, {"is_causal", false}, {"scale", 0.4}}});
  for (DType t : floating_dtypes) {
    const SampleTensor r = any_of(t, {2, 1, 2, 3}), c = any_of(t, {2, 1, 4, 3}),
                       lse = sample(t == DType::f64 ? t : DType::f32, {2, 1, 2}).range(1, 2);
    out.push_back(
        {{r, r, c, c, r, lse}, {{"dropout_p", 0.0}, {"is_causal", true}, {"scale", 0.5}}});
    out.push_back({{r, r, c, c, r, lse, any_of(t, {2, 4})}, plain});
  }
  const SampleTensor z = f32({2, 2, 3, 4}), w = f32({2, 2, 5, 4});
  for (const std::vector<int64_t>& mask :
       {std::vector<int64_t>{2, 2, 3, 5}, {2, 1, 3, 5}, {1, 2, 3, 5}, {1, 1, 1, 5}})
    out.push_back({{z, z, w, w, z, sums, f32(mask)}, plain});
  for (const DType t : {DType::bf16, DType::f64})  // sums from another source
    out.push_back({{z, z, w, w, z, sample(t, {2, 2, 3}).range(1, 2)}, plain});
  const SampleTensor shared = f32({2, 2, 3, 2}), reads = f32({2, 4, 3, 2});
  for (const SampleAttrs& attrs : {plain, causal})
    out.push_back({{reads, reads, shared, shared, reads, f32({2, 4, 3}).range(1, 2)}, attrs});
  for (const HalfSample& x : masked_halves())
    out.push_back({{x.rows, x.rows, x.columns, x.columns, x.rows, x.sums, x.mask}, plain});
  const SampleTensor one = f32({1, 1, 1, 1}), many = f32({1, 1, 40, 4});
  out.push_back({{one, one, one, one, one, f32({1, 1, 1})}, plain});
  out.push_back({{many, many, many, many, many, f32({1, 1, 40}).range(3, 5)}, causal});
  return out;
}

OpDef flash_backward() {
  const SampleAttrs plain = flash_attrs(false);
  const std::string name = "_scaled_dot_product_flash_attention_for_cpu_backward";
  return OpDef{
      .name = name,
      .signature =
          "(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, "
          "Tensor logsumexp, float dropout_p, bool is_causal, *, Tensor? attn_mask=None, "
          "float? scale=None) -> (Tensor, Tensor, Tensor)",
      .summary = "The gradients of attention by query, key and value.",
      .source = "aten::_scaled_dot_product_flash_attention_for_cpu_backward, PyTorch 2.13",
      .traits = traits,
      .infer = infer_backward,
      .reference = reference_backward,
      .decompose = decompose_backward,
      .grad = grad_of_backward,
      .lower = loop::library([](const OpView& op) {
        return attention_backward_form(backward_call(op), grad_out, out, logsumexp);
      }),
      .cost = cost(backward_call, 5),
      .samples = backward_samples,
      .rejects = [=]() -> Rejects {
        const SampleTensor y = f32({2, 2, 3, 6}), q = f32({2, 2, 3, 4}), k = f32({2, 2, 5, 4}),
                           v = f32({2, 2, 5, 6}), sums = f32({2, 2, 3}).range(1, 2);
        return {{"C13",
                 {{q, q, k, v, y, sums}, plain},
                 name + ": C13: grad_out and the result: [2,2,3,4] and [2,2,3,6], expected equal "
                        "shapes"},
                {"C14",
                 {{y, q, k, v, y, f32({2, 3})}, plain},
                 name + ": C14: logsumexp and the rows: [2,3] and [2,2,3], expected equal shapes"}};
      },
  };
}

}  // namespace

CLEAVE_OPS(flash_attention) { return {flash_forward(), flash_backward()}; }

}  // namespace cleave
