// scaled_dot_product_attention(query, key, value, attn_mask, rng; dropout_p, is_causal, scale,
//                              enable_gqa, stream) -> y
//   query  float[*batch,rows,width]          rank >= 2; the last dim of batch counts heads
//   key    float[*batch,columns,width]       leading dims broadcast; with enable_gqa heads of key
//   value  float[*batch,columns,value_width] and value are copied for groups of the query's heads
//   attn_mask  bool (true is open) or float (added), broadcast to [*batch,rows,columns]
//   rng    i64[2] = (seed, step), read if dropout_p > 0
//   y      [*batch,rows,value_width]
//
//   y = dropout(softmax(scale * query @ key^T + mask)) @ value      scale: 1 / sqrt(width)
//
// is_causal masks columns after the row: column > row, both counted from 0. A row that is fully
// masked gives zeros. Dropout keeps a weight if the uniform at its row-major position in
// [*batch,rows,columns] is at least dropout_p (native_dropout).
//   (C1) to (C10): attention.h      (C11) rng is i64[2], given if dropout_p > 0
//
// Gradient: the weights P are recomputed, with the same dropout bits, by the backward of an inner
// form: that of the efficient form with dropout and where the mask has a gradient.
//   dV = D^T dY    dD = dY V^T    dP = dropout'(dD)    dS = P (dP - sum(P dP))
//   dQ = scale dS K               dK = scale dS^T Q    dmask = dS
#include <cmath>

#include "op/attention.h"
#include "op/cost.h"
#include "op/dims.h"
#include "op/efficient_attention.h"
#include "op/entry.h"
#include "op/philox_reference.h"
#include "op/reference_sum.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

constexpr int mask_operand = 3, rng_operand = 4;

AttentionView call_of(const OpView& op) { return {op, 0, mask_operand}; }

Result<Types> infer(const OpView& op) {
  CLEAVE_TRY(const AttentionShape s, checked_attention(call_of(op)));
  if (op.float_attr("dropout_p") > 0 && !op.has(rng_operand))
    return op.broken("C11", "dropout_p is {} and rng is none, expected rng: i64[2]",
                     op.attr("dropout_p").text());
  if (op.has(rng_operand)) {
    const Type& rng = op.in_type(rng_operand);
    if (rng.dtype != DType::i64 || rng.rank() != 1 ||
        !op.env().provably_equal(rng.shape[0], Dim(2)))
      return op.broken("C11", "rng is {}, expected i64[2]", rng.text());
  }
  return Types{typed_like(op.in_type(0), op.in_type(0).dtype, s.with(s.rows, s.value_width))};
}

// Drops weights of one row; `first` is the row-major position of its first element.
void drop(const OpView& op, const Array& rng, int64_t first, std::vector<double>& weights) {
  const double p = op.float_attr("dropout_p");
  for (double& w : weights) {
    const uint32_t word = random_word(rng.i[0], rng.i[1], op.int_attr("stream"), first++);
    w = uniform_of(word) >= p ? w * keep_scale(p) : 0;
  }
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  const Array& value = *in[2];
  const int64_t out_width = value.shape.back();
  const ScoreRows scores(op, *in[0], *in[1], value, op.has(mask_operand) ? in[3] : nullptr);
  Array y(in[0]->dtype, static_shape(op.out_type(0)));
  ReferenceSums sums(y.f.size());
  std::vector<int64_t> at(scores.batch().size(), 0);
  const int64_t rows = scores.rows(), columns = scores.columns();
  for (int64_t n = 0; n < numel_of(scores.batch()); ++n, next_index(at, scores.batch())) {
    const int64_t v = scores.value_at(at);
    for (int64_t i = 0; i < rows; ++i) {
      std::vector<double> weights = scores.row(at, i);
      softmax_row(weights);
      if (op.float_attr("dropout_p") > 0) drop(op, *in[4], (n * rows + i) * columns, weights);
      for (int64_t j = 0; j < columns; ++j)
        for (int64_t e = 0; e < out_width; ++e)
          sums[(n * rows + i) * out_width + e] += weights[j] * value.f[v + j * out_width + e];
    }
  }
  y.f = rounded(sums);
  return Arrays{std::move(y)};
}

// [*batch,heads,r,c] of operand k: broadcast, except for heads of key and value that a group
// shares.
Shape own_shape(const AttentionShape& s, const OpView& op, int k) {
  const Type& operand = op.in_type(k);
  Shape own = s.with(operand.shape[operand.rank() - 2], operand.shape.back());
  if (k == 0 || s.batch.empty()) return own;
  own[s.batch.size() - 1] = operand.rank() > 2 ? operand.shape[operand.rank() - 3] : Dim(1);
  return own;
}

Shape rank_four(const Shape& shape) {
  const size_t rank = shape.size();
  Dim batch = 1;
  for (size_t d = 0; d + 3 < rank; ++d) batch = batch * shape[d];
  return {batch, rank > 2 ? shape[rank - 3] : Dim(1), shape[rank - 2], shape[rank - 1]};
}

ValueId viewed(Builder& b, ValueId x, const Shape& shape) {
  if (!b.status().ok() || b.type(x).shape == shape) return x;
  return b.view(x, shape);
}

// The call in PyTorch's inner forms, whose operands have rank 4: _flash_attention_for_cpu, or
// _efficient_attention with dropout.
struct Inner {
  AttentionShape shape;
  Values operands;  // query, key, value, mask
  Values results;   // y, log-sums, and with dropout seed and step
  bool drops = false;
};

Inner inner_of(Builder& b, const OpView& op) {
  Inner in{attention_shape(call_of(op)), {}, {}, op.float_attr("dropout_p") > 0};
  const AttentionShape& s = in.shape;
  for (int k = 0; k < 3; ++k) {
    const Shape own = own_shape(s, op, k);
    ValueId x = op.in(k);
    if (op.in_type(k).shape != own) x = b.expand(x, own);
    in.operands.push_back(viewed(b, x, rank_four(own)));
  }
  ValueId mask = op.has(mask_operand) ? op.in(mask_operand) : ValueId::none();
  if (op.has(mask_operand) && op.in_type(mask_operand).rank() > 3 && s.batch.size() > 2)
    mask =
        viewed(b, b.expand(mask, s.with(s.rows, s.columns)), rank_four(s.with(s.rows, s.columns)));
  in.operands.push_back(mask);
  std::vector<CallOperand> all(in.operands.begin(), in.operands.end());
  if (in.drops) {
    all.push_back(op.in(rng_operand));
    in.results = b.call("_scaled_dot_product_efficient_attention", all,
                        {{"compute_log_sumexp", true},
                         {"dropout_p", op.float_attr("dropout_p")},
                         {"is_causal", op.bool_attr("is_causal")},
                         {"scale", op.attr("scale")},
                         {"stream", op.attr("stream")}});
  } else {
    in.results = b.call("_scaled_dot_product_flash_attention_for_cpu", all,
                        {{"is_causal", op.bool_attr("is_causal")}, {"scale", op.attr("scale")}});
  }
  return in;
}

Values decompose(Builder& b, const OpView& op) {
  const Inner in = inner_of(b, op);
  if (!b.status().ok()) return {ValueId::none()};
  return {viewed(b, in.results[0], op.out_type(0).shape)};
}

// The efficient form's backward, which has a gradient of the mask and of dropout's weights.
Values efficient_backward(Builder& b, const GradView& op, const Inner& in, ValueId g) {
  const Values &x = in.operands, &y = in.results;
  const bool wants_mask = op.has(mask_operand) && op.needs(mask_operand);
  const ValueId zero = in.drops ? ValueId::none() : b.full({}, 0, DType::i64);
  const AttentionShape& s = in.shape;
  return b.call(
      "_scaled_dot_product_efficient_attention_backward",
      {g, x[0], x[1], x[2],
       wants_mask ? whole_mask(b, x[3], rank_four(s.with(s.rows, s.columns)), call_of(op).work())
                  : x[3],
       y[0], in.drops ? y[1] : padded_sums(b, y[1]), in.drops ? y[2] : zero,
       in.drops ? y[3] : zero},
      {{"dropout_p", op.float_attr("dropout_p")},
       {"grad_input_mask", std::vector<bool>{op.needs(0), op.needs(1), op.needs(2), wants_mask}},
       {"is_causal", op.bool_attr("is_causal")},
       {"scale", op.attr("scale")},
       {"stream", op.attr("stream")}});
}

// Repeats the forward's inner call, which is merged with the forward's own, and calls its backward.
Values grad(Builder& b, const GradView& op) {
  Values d = op.no_grads();
  if (op.dout(0).is_none()) return d;
  const Inner in = inner_of(b, op);
  if (!b.status().ok()) return d;
  const Values &x = in.operands, &y = in.results;
  const ValueId g = viewed(b, op.dout(0), b.type(y[0]).shape);
  const bool wants_mask = op.has(mask_operand) && op.needs(mask_operand);
  const Values grads = in.drops || wants_mask
                           ? efficient_backward(b, op, in, g)
                           : b.call("_scaled_dot_product_flash_attention_for_cpu_backward",
                                    {g, x[0], x[1], x[2], y[0], y[1], x[3]},
                                    {{"dropout_p", 0.0},
                                     {"is_causal", op.bool_attr("is_causal")},
                                     {"scale", op.attr("scale")}});
  for (int k = 0; k < 3 && b.status().ok(); ++k) {
    if (!op.needs(k)) continue;
    d[k] = b.sum_to(viewed(b, grads[k], own_shape(in.shape, op, k)), op.in_type(k).shape);
  }
  if (!wants_mask || !b.status().ok()) return d;
  // A mask of other rank was expanded to all of the scores.
  const Type& m = op.in_type(mask_operand);
  const AttentionShape& s = in.shape;
  const ValueId dmask =
      x[3] == op.in(mask_operand) ? grads[3] : viewed(b, grads[3], s.with(s.rows, s.columns));
  d[mask_operand] = b.convert(b.sum_to(dmask, m.shape), m.dtype);
  return d;
}

Cost cost(const OpView& op) {
  const AttentionShape s = attention_shape(call_of(op));
  Dim weights = s.rows * s.columns;
  for (const Dim& d : s.batch) weights = weights * d;
  return {op.env().hint_of(weights * (s.width + s.value_width)) * 2 + 5 * op.env().hint_of(weights),
          bytes_moved(op)};
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  for (DType t : floating_dtypes)
    out.push_back({{any_of(t, {2, 3, 4}), any_of(t, {2, 5, 4}), any_of(t, {2, 5, 3})}});
  const auto same = [](std::vector<int64_t> s) {
    return std::vector<SampleOperand>(3, f32(std::move(s)));
  };
  const auto with = [](std::vector<SampleOperand> qkv, std::vector<SampleOperand> more) {
    qkv.insert(qkv.end(), more.begin(), more.end());
    return qkv;
  };
  const double inf = INFINITY;
  const SampleTensor rng = i64({2}).with({7, 3});
  out.insert(
      out.end(),
      {{same({3, 4})},
       {same({2, 2, 3, 4}), {{"is_causal", true}}},
       {{f32({1, 2, 4}), f32({1, 5, 4}), f32({1, 5, 3})}, {{"is_causal", true}, {"scale", 0.3}}},
       {{f32({1, 5, 4}), f32({1, 2, 4}), f32({1, 2, 3})}, {{"is_causal", true}}},
       {{f32({2, 1, 3, 4}), f32({1, 2, 5, 4}), f32({2, 5, 3})}},
       {{f32({2, 3, 4}), f32({2, 0, 4}), f32({2, 0, 3})}},
       {{f32({0, 3, 4}), f32({0, 2, 4}), f32({0, 2, 3})}},
       {with(same({2, 2, 3, 4}), {f32({3, 3})})},
       {with(same({2, 2, 3, 4}), {f32({2, 1, 1, 3})}), {{"is_causal", true}}},
       {with(same({3, 3}), {f32({3, 3}).with({0, 1, -inf, -inf, -inf, -inf, 2, 0, 0})})},
       {with(same({2, 3, 3}), {boolean({3, 3}).with({1, 1, 0, 0, 0, 0, 0, 1, 1})})},
       {with({bf16({2, 3, 4}), bf16({2, 3, 4}), bf16({2, 3, 4})}, {f32({3, 3})})},
       {{f32({2, 4, 3, 2}), f32({2, 2, 5, 2}), f32({2, 1, 5, 2})}, {{"enable_gqa", true}}},
       {{f32({4, 2, 2}), f32({2, 2, 2}), f32({2, 2, 2})},
        {{"enable_gqa", true}, {"is_causal", true}}},
       {{f32({0, 3, 2}), f32({2, 3, 2}), f32({2, 3, 2})}, {{"enable_gqa", true}}},
       {with(same({2, 3, 4}), {std::nullopt, rng}), {{"dropout_p", 0.4}, {"stream", 5}}},
       {with(same({2, 2, 3, 2}), {f32({3, 3}), rng}),
        {{"dropout_p", 0.25}, {"stream", 1}, {"is_causal", true}}},
       {with(same({2, 3}), {std::nullopt, rng}), {{"dropout_p", 1.0}}}});
  return out;
}

std::vector<Reject> rejects() {
  const std::string name = "scaled_dot_product_attention";
  const SampleTensor x = f32({2, 3, 4});
  return {
      {"C1", {{f32({4}), x, x}}, name + ": C1: query is f32[4], expected rank 2 or more"},
      {"C2", {{i64({3, 4}), x, x}}, name + ": C2: query is i64[3,4], expected a floating dtype"},
      {"C2",
       {{x, f64({2, 3, 4}), x}},
       name + ": C2: key is f64[2,3,4], expected the dtype of query: f32"},
      {"C3",
       {{x, f32({2, 3, 5}), x}},
       name + ": C3: widths of query and key: 4 and 5, expected equal"},
      {"C4",
       {{x, x, f32({2, 6, 4})}},
       name + ": C4: rows of key and value: 3 and 6, expected equal"},
      {"C5",
       {{x, f32({5, 3, 4}), x}},
       name +
           ": C5: shapes [2] and [5] don't broadcast: dim -1 is 2 and 5, expected equal sizes or "
           "1"},
      {"C6",
       {{f32({4, 3, 4}), f32({3, 3, 4}), f32({4, 3, 4})}, {{"enable_gqa", true}}},
       name + ": C6: key has 3 heads, expected a divisor of those of the query: 4"},
      {"C6",
       {{x, x, f32({3, 4})}, {{"enable_gqa", true}}},
       name + ": C6: value is f32[3,4], expected a dim of heads"},
      {"C7",
       {{x, x, x, i64({3, 3})}},
       name + ": C7: attn_mask is i64[3,3], expected bool, f32 or the dtype of query: f32"},
      {"C7",
       {{x, x, x, f32({3, 1, 3, 3})}},
       name + ": C7: shape [3,1,3,3] doesn't broadcast to [2,3,3], expected dims that are equal or "
              "1"},
      {"C8",
       {{x, x, x}, {{"dropout_p", 1.5}}},
       name + ": C8: dropout_p is 1.5, expected a number in [0, 1]"},
      {"C9",
       {{x, on_cuda(x), x}},
       name + ": C9: query is f32[2,3,4] and key is f32[2,3,4]@cuda:0, expected one device"},
      {"C11",
       {{x, x, x}, {{"dropout_p", 0.5}}},
       name + ": C11: dropout_p is 0.5 and rng is none, expected rng: i64[2]"},
      {"C11",
       {{x, x, x, std::nullopt, i32({2})}, {{"dropout_p", 0.5}}},
       name + ": C11: rng is i32[2], expected i64[2]"}};
}

}  // namespace

CLEAVE_OPS(attention) {
  return {OpDef{
      .name = "scaled_dot_product_attention",
      .signature = "(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, "
                   "Tensor? rng=None, float dropout_p=0., bool is_causal=False, *, "
                   "float? scale=None, bool enable_gqa=False, int stream=0) -> Tensor",
      .summary = "softmax(scale * query @ key^T + mask) @ value, with dropout of the weights.",
      .source = "aten::scaled_dot_product_attention, PyTorch 2.13, with rng and stream for dropout",
      .traits = Trait::compute_intensive | Trait::recomputable | Trait::random,
      .infer = infer,
      .reference = reference,
      .decompose = decompose,
      .grad = grad,
      .lower = loop::by_decomposition(),
      .cost = cost,
      .samples = samples,
      .rejects = rejects,
  }};
}

}  // namespace cleave
