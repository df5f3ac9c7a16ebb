// _scaled_dot_product_efficient_attention_backward(grad_out_, query, key, value, attn_bias, out,
//     logsumexp, philox_seed, philox_offset; dropout_p, grad_input_mask, is_causal, scale, stream)
//   -> dq, dk, dv, dbias
//
//   P = exp(scores - logsumexp)   D = dropout(P)   dropout is recomputed from seed, offset, stream
//   dV = D^T g        dP = dropout'(g V^T)         dS = P (dP - sum(g out))
//   dQ = scale dS K   dK = scale dS^T Q            dbias = dS, summed to the shape of attn_bias
//
//   (C1..C11) efficient_attention.h   (C12) grad_out_ and out have the shape of the result
//   (C13) logsumexp is [n,h,padded]   (C14) philox_seed and philox_offset are i64[]
//   (C15) grad_input_mask has 4 entries, and requests dbias only if there is a floating attn_bias
// A result that grad_input_mask excludes has no type.
#include "op/efficient_attention.h"
#include "op/reference_sum.h"

#include <cmath>

namespace cleave {
namespace {

enum Operand {
  at_grad_out,
  at_query,
  at_key,
  at_value,
  at_bias,
  at_out,
  at_logsumexp,
  at_seed,
  at_offset
};

AttentionView call_of(const OpView& op) { return {op, at_query, at_bias}; }
bool drops(const OpView& op) { return op.float_attr("dropout_p") > 0; }

std::vector<bool> wanted(const OpView& op) {
  std::vector<bool> mask;
  if (const AttrList* list = op.attr("grad_input_mask").get<AttrList>())
    for (const AttrValue& v : *list) mask.push_back(v.get<bool>() && *v.get<bool>());
  return mask;
}

Result<Types> infer(const OpView& op) {
  const AttentionView call = call_of(op);
  CLEAVE_TRY(const AttentionShape s, checked_efficient(call));
  const Shape y = s.with(s.rows, s.value_width);
  for (int k : {at_grad_out, at_out})
    CLEAVE_CHECK(check_same_shape(op, "C12",
                                  k == at_out ? "out and the result" : "grad_out_ and the result",
                                  op.in_type(k).shape, y));
  CLEAVE_CHECK(check_same_shape(op, "C13", "logsumexp and the padded rows",
                                op.in_type(at_logsumexp).shape, padded_sums_shape(s)));
  for (int k : {at_seed, at_offset})
    if (op.in_type(k).dtype != DType::i64 || op.in_type(k).rank() != 0)
      return op.broken("C14", "{} is {}, expected i64[]",
                       k == at_seed ? "philox_seed" : "philox_offset", op.in_type(k).text());
  const std::vector<bool> mask = wanted(op);
  if (mask.size() != 4)
    return op.broken("C15", "grad_input_mask has {} entries, expected 4", mask.size());
  if (mask[3] && (!op.has(at_bias) || !is_floating(op.in_type(at_bias).dtype)))
    return op.broken("C15", "grad_input_mask asks for the gradient of attn_bias, which is {}",
                     op.has(at_bias) ? op.in_type(at_bias).text() : "none");
  Types types;
  for (int k = 0; k < 4; ++k)
    types.push_back(mask[k] ? typed_like(op.in_type(at_query + k), op.in_type(at_query + k).dtype,
                                         op.in_type(at_query + k).shape)
                            : Type::none());
  return types;
}

// The element of the bias that [at, row, column] reads.
int64_t bias_element(const Array& bias, std::vector<int64_t> at, int64_t row, int64_t column) {
  at.push_back(row);
  at.push_back(column);
  return broadcast_position(at, bias.shape);
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  const Array &g = *in[at_grad_out], &q = *in[at_query], &k = *in[at_key], &v = *in[at_value];
  const Array &y = *in[at_out], &sums = *in[at_logsumexp];
  const Array* bias = op.has(at_bias) ? in[at_bias] : nullptr;
  const ScoreRows scores(op, q, k, v, bias);
  Array dq(q.dtype, q.shape), dk(k.dtype, k.shape), dv(v.dtype, v.shape), dbias;
  ReferenceSums dq_sum(q.f.size()), dk_sum(k.f.size()), dv_sum(v.f.size());
  const bool with_bias = bias && bias->floating();
  if (with_bias) dbias = Array(bias->dtype, bias->shape);
  ReferenceSums dbias_sum(dbias.f.size());
  const int64_t rows = scores.rows(), columns = scores.columns(), padded = sums.shape.back();
  const int64_t width = q.shape.back(), value_width = v.shape.back();
  std::vector<int64_t> at(scores.batch().size(), 0);
  for (int64_t n = 0; n < numel_of(scores.batch()); ++n, next_index(at, scores.batch()))
    for (int64_t i = 0; i < rows; ++i) {
      const std::vector<double> row = scores.row(at, i);
      const std::vector<double> kept = kept_factors(op, in[at_seed]->i[0], in[at_offset]->i[0],
                                                    (n * rows + i) * columns, columns);
      const int64_t q0 = scores.query_at(at) + i * width, g0 = (n * rows + i) * value_width;
      ReferenceSum own;
      for (int64_t e = 0; e < value_width; ++e) own += g.f[g0 + e] * y.f[g0 + e];
      for (int64_t j = 0; j < columns; ++j) {
        const double weight = std::exp(row[j] - sums.f[n * padded + i]);
        const int64_t k0 = scores.key_at(at) + j * width;
        const int64_t v0 = scores.value_at(at) + j * value_width;
        ReferenceSum dweight;
        for (int64_t e = 0; e < value_width; ++e) {
          dweight += g.f[g0 + e] * v.f[v0 + e] * kept[j];
          dv_sum[v0 + e] += weight * kept[j] * g.f[g0 + e];
        }
        const double dscore = weight * (dweight - own);
        for (int64_t e = 0; e < width; ++e) {
          dq_sum[q0 + e] += dscore * scores.scale() * k.f[k0 + e];
          dk_sum[k0 + e] += dscore * scores.scale() * q.f[q0 + e];
        }
        if (with_bias) dbias_sum[bias_element(dbias, at, i, j)] += dscore;
      }
    }
  dq.f = rounded(dq_sum);
  dk.f = rounded(dk_sum);
  dv.f = rounded(dv_sum);
  dbias.f = rounded(dbias_sum);
  return Arrays{std::move(dq), std::move(dk), std::move(dv), std::move(dbias)};
}

// [n,rows,columns], n: batch and heads in one.
Shape flat_scores(const AttentionShape& s) { return {s.batch[0] * s.batch[1], s.rows, s.columns}; }

ValueId flipped(Builder& b, ValueId x) { return b.permute(x, {0, 2, 1}); }

Values without_dropout(Builder& b, const OpView& op, const std::vector<bool>& mask) {
  const Dim rows = op.in_type(at_query).shape[2];
  const ValueId bias = op.has(at_bias) ? op.in(at_bias) : ValueId::none();
  Values d = b.call(
      "_scaled_dot_product_flash_attention_for_cpu_backward",
      {op.in(at_grad_out), op.in(at_query), op.in(at_key), op.in(at_value), op.in(at_out),
       without_padding(b, op.in(at_logsumexp), rows), bias},
      {{"dropout_p", 0.0}, {"is_causal", op.bool_attr("is_causal")}, {"scale", op.attr("scale")}});
  d.resize(4);
  for (size_t k = 0; k < 4; ++k)
    if (!mask[k]) d[k] = ValueId();
  return d;
}

ValueId kept_by(Builder& b, const OpView& op, ValueId weights) {
  const ValueId rng = b.call1("stack", {Values{op.in(at_seed), op.in(at_offset)}}, {{"dim", 0}});
  return kept_weights(b, op, weights, rng);
}

Values decompose(Builder& b, const OpView& op) {
  if (!drops(op) && !wanted(op)[3]) return without_dropout(b, op, wanted(op));
  const AttentionView call = call_of(op);
  const DType work = call.work();
  const std::vector<bool> mask = wanted(op);
  const AttentionParts p = attention_parts(b, call, ScoresFor::backward);
  const AttentionShape& s = p.shape;
  const ValueId sums = without_padding(b, b.convert(op.in(at_logsumexp), work), s.rows);
  const ValueId weights = without_batch(b, b.exp(b.sub(p.scores, b.unsqueeze(sums, -1))));
  const ValueId g = without_batch(b, b.convert(op.in(at_grad_out), work));
  ValueId dropped = weights, dweights = b.bmm(g, flipped(b, p.value));
  if (drops(op)) {
    const ValueId kept = kept_by(b, op, weights);
    const double scale = keep_scale(op.float_attr("dropout_p"));
    dropped = b.where(kept, b.mul(weights, scale), 0.0);
    dweights = b.where(kept, b.mul(dweights, scale), 0.0);
  }
  const ValueId out = without_batch(b, b.convert(op.in(at_out), work));
  const ValueId own = b.sum(b.mul(g, out), {-1}, true);
  const ValueId dscores = b.mul(weights, b.sub(dweights, own));
  const DType t = product_dtype(call, s);
  const ValueId scaled = b.convert(b.mul(dscores, call.scale()), t);
  const ValueId given = t == work ? g : without_batch(b, b.convert(op.in(at_grad_out), t));
  Values d(4);
  if (mask[0]) d[0] = from_flat(b, s, b.bmm(scaled, factor(b, call, p, 1, t)), 1, call.type(0));
  if (mask[1])
    d[1] = from_flat(b, s, b.bmm(flipped(b, scaled), factor(b, call, p, 0, t)), s.key_group,
                     call.type(1));
  if (mask[2])
    d[2] = from_flat(b, s, b.bmm(flipped(b, b.convert(dropped, t)), given), s.value_group,
                     call.type(2));
  if (mask[3]) {
    const Type& bias = op.in_type(at_bias);
    d[3] = b.convert(b.sum_to(with_batch(b, s, dscores), bias.shape), bias.dtype);
  }
  return d;
}

Values grad(Builder& b, const GradView& op) {
  const AttentionView call = call_of(op);
  const AttentionShape s = attention_shape(call);
  const DType work = call.work();
  BackwardInputs in;
  in.dout = op.in(at_grad_out);
  in.out = op.in(at_out);
  in.sums = without_padding(b, b.convert(op.in(at_logsumexp), work), s.rows);
  if (drops(op)) {
    const ValueId like = b.full(flat_scores(s), 0.0, work);  // which weights doesn't matter
    in.kept = kept_by(b, op, like);
    in.keep_scale = keep_scale(op.float_attr("dropout_p"));
  }
  const BackwardGrads g =
      backward_grads(b, call, in, {op.dout(0), op.dout(1), op.dout(2), op.dout(3)});
  Values d = op.no_grads();
  d[at_grad_out] = g.dout, d[at_query] = g.query, d[at_key] = g.key, d[at_value] = g.value;
  d[at_out] = g.out;
  if (g.sums.valid())
    d[at_logsumexp] = b.convert(padded_sums(b, g.sums), op.in_type(at_logsumexp).dtype);
  if (op.has(at_bias) && op.needs(at_bias) && g.scores.valid()) {
    const Type& m = op.in_type(at_bias);
    d[at_bias] = b.convert(b.sum_to(g.scores, m.shape), m.dtype);
  }
  return d;
}

std::optional<loop::LibraryForm> form(const OpView& op) {
  const MaskGradient dmask = wanted(op)[3] ? MaskGradient::wanted : MaskGradient::none;
  if (!drops(op) && dmask == MaskGradient::none) return std::nullopt;
  return attention_backward_form(call_of(op), at_grad_out, at_out, at_logsumexp,
                                 {.seed = {at_seed, 0}, .step = {at_offset, 0}}, dmask);
}

Cost cost(const OpView& op) {
  const AttentionShape s = attention_shape(call_of(op));
  Dim weights = s.rows * s.columns;
  for (const Dim& d : s.batch) weights = weights * d;
  return Cost{op.env().hint_of(weights * (s.width + s.value_width)) * 5, bytes_moved(op)};
}

struct Shapes {
  std::vector<int64_t> q, k, v;
};

Sample call(DType t, const Shapes& s, SampleOperand bias, std::vector<bool> mask,
            SampleAttrs attrs = {}) {
  std::vector<int64_t> y = s.q;
  y.back() = s.v.back();
  const DType work = t == DType::f64 ? t : DType::f32;
  const SampleTensor sums = sample(work, {s.q[0], s.q[1], (s.q[2] + 31) / 32 * 32}).range(1, 2);
  bool has_p = false;
  for (const auto& [name, value] : attrs) has_p = has_p || name == "dropout_p";
  if (!has_p) attrs.emplace_back("dropout_p", 0.0);
  attrs.emplace_back("grad_input_mask", std::move(mask));
  return {{any_of(t, y), any_of(t, s.q), any_of(t, s.k), any_of(t, s.v), std::move(bias),
           any_of(t, y), sums, i64({}).with({7}), i64({}).with({3})},
          std::move(attrs)};
}

std::vector<Sample> samples() {
  const std::nullopt_t none = std::nullopt;
  const std::vector<bool> qkv = {true, true, true, false}, all = {true, true, true, true};
  const Shapes square{{1, 2, 3, 4}, {1, 2, 3, 4}, {1, 2, 3, 4}};
  const Shapes odd{{2, 2, 3, 4}, {2, 2, 5, 4}, {2, 2, 5, 6}};
  const Shapes small{{1, 1, 2, 2}, {1, 1, 3, 2}, {1, 1, 3, 1}};
  const SampleAttrs causal = {{"is_causal", true}}, scaled = {{"scale", 0.4}};
  const SampleAttrs half = {{"dropout_p", 0.5}, {"stream", 5}};
  constexpr DType f = DType::f32;
  std::vector<Sample> out;
  for (DType t : floating_dtypes) {
    out.push_back(call(t, square, none, qkv));
    out.push_back(call(t, square, none, qkv, causal));
    out.push_back(call(t, odd, any_of(t, {3, 5}), all, scaled));
  }
  Sample rounded = call(f, square, none, qkv);  // sums from another source
  rounded.operands[at_logsumexp] = sample(DType::f16, {1, 2, 32}).range(1, 2);
  out.push_back(std::move(rounded));
  out.insert(
      out.end(),
      {call(f, odd, none, qkv), call(f, small, none, {true, false, false, false}),
       call(f, small, none, {false, true, false, false}),
       call(f, small, none, {false, false, true, false}),
       call(f, small, f32({2, 3}), {false, false, false, true}),
       call(f, odd, f32({2, 2, 3, 5}), all), call(f, odd, f32({1, 2, 3, 5}), all, half),
       call(DType::bf16, odd, f32({1, 2, 3, 5}), all, causal),
       call(f, {{0, 2, 3, 4}, {0, 2, 5, 4}, {0, 2, 5, 6}}, f32({1, 2, 3, 5}), all),
       call(f, small, f32({1, 1, 1, 3}), all), call(f, odd, f32({2, 1, 3, 1}), all, causal),
       call(f, small, boolean({2, 3}).with({1, 0, 1, 0, 0, 0}), qkv),
       call(f, small, none, qkv, half), call(f, odd, f32({3, 5}), all, half),
       call(f, small, none, qkv, {{"dropout_p", 1.0}}), call(DType::bf16, small, none, qkv, half),
       call(f, {{1, 1, 33, 2}, {1, 1, 2, 2}, {1, 1, 2, 2}}, none, qkv),
       call(f, {{0, 1, 2, 2}, {0, 1, 2, 2}, {0, 1, 2, 2}}, none, qkv)});
  return out;
}

std::vector<Reject> rejects(const std::string& name) {
  const Shapes square{{1, 2, 3, 4}, {1, 2, 3, 4}, {1, 2, 3, 4}};
  const std::vector<bool> qkv = {true, true, true, false};
  const Sample base = call(DType::f32, square, std::nullopt, qkv);
  const auto with = [&](int k, SampleTensor operand) {
    Sample s = base;
    s.operands[k] = std::move(operand);
    return s;
  };
  const auto masked = [&](SampleOperand bias, std::vector<bool> mask) {
    return call(DType::f32, square, std::move(bias), std::move(mask));
  };
  return {{"C12", with(at_grad_out, f32({1, 2, 3, 5})),
           name + ": C12: grad_out_ and the result: [1,2,3,5] and [1,2,3,4], expected equal "
                  "shapes"},
          {"C13", with(at_logsumexp, f32({1, 2, 3})),
           name + ": C13: logsumexp and the padded rows: [1,2,3] and [1,2,32], expected equal "
                  "shapes"},
          {"C14", with(at_seed, i64({1})), name + ": C14: philox_seed is i64[1], expected i64[]"},
          {"C15", masked(std::nullopt, {true}),
           name + ": C15: grad_input_mask has 1 entries, expected 4"},
          {"C15", masked(std::nullopt, {true, true, true, true}),
           name + ": C15: grad_input_mask asks for the gradient of attn_bias, which is none"},
          {"C15", masked(boolean({3, 3}), {true, true, true, true}),
           name + ": C15: grad_input_mask asks for the gradient of attn_bias, which is "
                  "bool[3,3]"}};
}

}  // namespace

CLEAVE_OPS(efficient_attention_backward) {
  const std::string name = "_scaled_dot_product_efficient_attention_backward";
  return {OpDef{
      .name = name,
      .signature = "(Tensor grad_out_, Tensor query, Tensor key, Tensor value, Tensor? attn_bias, "
                   "Tensor out, Tensor logsumexp, Tensor philox_seed, Tensor philox_offset, "
                   "float dropout_p, bool[4] grad_input_mask, bool is_causal=False, *, "
                   "float? scale=None, int stream=0) -> (Tensor, Tensor, Tensor, Tensor)",
      .summary = "The gradients of attention by query, key, value and bias.",
      .source = "aten::" + name + ", PyTorch 2.13; bits of its own",
      .traits = Trait::compute_intensive | Trait::recomputable,
      .infer = infer,
      .reference = reference,
      .decompose = decompose,
      .grad = grad,
      .lower = loop::library(form),
      .cost = cost,
      .samples = samples,
      .rejects = [=] { return rejects(name); },
  }};
}

}  // namespace cleave
