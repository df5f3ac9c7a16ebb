// _scaled_dot_product_efficient_attention(query, key, value, attn_bias, rng; compute_log_sumexp,
//       dropout_p, is_causal, scale, stream) -> y, logsumexp, philox_seed, philox_offset
//
//   y = dropout(softmax(scale * query @ key^T + attn_bias)) @ value        efficient_attention.h
//   logsumexp  [n,h,0] if compute_log_sumexp is false
//   rng        i64[2] = (seed, step), read if dropout_p > 0; ATen has no such operand
//   philox_seed, philox_offset  i64[]: seed and step, from which the backward derives the same
//              bits; zeros without dropout
//
//   (C1..C11) efficient_attention.h     (C12) rng is i64[2], given if dropout_p > 0
#include "op/efficient_attention.h"

#include <cmath>

#include "op/philox_reference.h"

namespace cleave {

Result<AttentionShape> checked_efficient(const AttentionView& call) {
  CLEAVE_TRY(AttentionShape s, checked_attention(call));
  if (call.type(0).rank() != 4)
    return call.op.broken("C11", "query is {}, expected rank 4", call.type(0).text());
  return s;
}

Shape padded_sums_shape(const AttentionShape& s) {
  Shape shape = s.batch;
  shape.push_back(Dim::floordiv(s.rows + Dim(31), 32) * Dim(32));
  return shape;
}

ValueId padded_sums(Builder& b, ValueId sums) {
  if (!b.status().ok()) return sums;
  const Dim rows = b.type(sums).shape.back();
  const Dim more = Dim::floordiv(rows + Dim(31), 32) * Dim(32) - rows;
  if (more == Dim(0)) return sums;
  return b.call1("constant_pad_nd", {sums}, {{"pad", std::vector<Dim>{Dim(0), more}}});
}

ValueId without_padding(Builder& b, ValueId sums, const Dim& rows) {
  return b.slice(sums, 2, Dim(0), rows);
}

ValueId kept_weights(Builder& b, const OpView& op, ValueId weights, ValueId rng) {
  const Values drop =
      b.call("native_dropout", {weights, rng},
             {{"p", op.float_attr("dropout_p")}, {"train", true}, {"stream", op.attr("stream")}});
  return drop.size() == 2 ? drop[1] : ValueId::none();
}

std::vector<double> kept_factors(const OpView& op, int64_t seed, int64_t step, int64_t first,
                                 int64_t count) {
  const double p = op.float_attr("dropout_p");
  std::vector<double> factors(static_cast<size_t>(count), 1.0);
  if (p == 0) return factors;
  for (double& f : factors) {
    const uint32_t word = random_word(seed, step, op.int_attr("stream"), first++);
    f = uniform_of(word) >= p ? keep_scale(p) : 0;
  }
  return factors;
}

namespace {

constexpr int bias_operand = 3, rng_operand = 4;

AttentionView call_of(const OpView& op) { return {op, 0, bias_operand}; }
bool drops(const OpView& op) { return op.float_attr("dropout_p") > 0; }

Result<Types> infer(const OpView& op) {
  CLEAVE_TRY(const AttentionShape s, checked_efficient(call_of(op)));
  if (drops(op) && !op.has(rng_operand))
    return op.broken("C12", "dropout_p is {} and rng is none, expected rng: i64[2]",
                     op.attr("dropout_p").text());
  if (op.has(rng_operand)) {
    const Type& rng = op.in_type(rng_operand);
    if (rng.dtype != DType::i64 || rng.rank() != 1 ||
        !op.env().provably_equal(rng.shape[0], Dim(2)))
      return op.broken("C12", "rng is {}, expected i64[2]", rng.text());
  }
  const Type& q = op.in_type(0);
  Shape sums = padded_sums_shape(s);
  if (!op.bool_attr("compute_log_sumexp")) sums.back() = 0;
  const Type state = typed_like(q, DType::i64, {});
  return Types{typed_like(q, q.dtype, s.with(s.rows, s.value_width)),
               typed_like(q, call_of(op).work(), std::move(sums)), state, state};
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  const Array& value = *in[2];
  const ScoreRows scores(op, *in[0], *in[1], value, op.has(bias_operand) ? in[3] : nullptr);
  Array y(in[0]->dtype, static_shape(op.out_type(0)));
  Array sums(op.out_type(1).dtype, static_shape(op.out_type(1)));
  Array seed(DType::i64, {}), step = seed;
  if (drops(op)) {
    seed.i[0] = in[rng_operand]->i[0];
    step.i[0] = in[rng_operand]->i[1];
  }
  const int64_t rows = scores.rows(), columns = scores.columns(), width = value.shape.back();
  const int64_t padded = sums.shape.back();
  std::vector<int64_t> at(scores.batch().size(), 0);
  for (int64_t n = 0; n < numel_of(scores.batch()); ++n, next_index(at, scores.batch()))
    for (int64_t i = 0; i < rows; ++i) {
      std::vector<double> weights = scores.row(at, i);
      const double sum = softmax_row(weights);
      if (padded > 0) sums.f[n * padded + i] = sum;
      const std::vector<double> kept =
          kept_factors(op, seed.i[0], step.i[0], (n * rows + i) * columns, columns);
      for (int64_t j = 0; j < columns; ++j)
        for (int64_t e = 0; e < width; ++e)
          y.f[(n * rows + i) * width + e] +=
              weights[j] * kept[j] * value.f[scores.value_at(at) + j * width + e];
    }
  return Arrays{std::move(y), std::move(sums), std::move(seed), std::move(step)};
}

// Without dropout: calls the form for the CPU and pads its logsumexp.
Values without_dropout(Builder& b, const OpView& op) {
  const Values y = b.call(
      "_scaled_dot_product_flash_attention_for_cpu",
      {op.in(0), op.in(1), op.in(2), op.has(bias_operand) ? op.in(bias_operand) : ValueId::none()},
      {{"is_causal", op.bool_attr("is_causal")}, {"scale", op.attr("scale")}});
  if (y.size() != 2) return Values(4);
  const Type& sums = op.out_type(1);
  return {y[0],
          op.bool_attr("compute_log_sumexp") ? padded_sums(b, y[1])
                                             : b.full(sums.shape, 0.0, sums.dtype),
          b.full({}, 0, DType::i64), b.full({}, 0, DType::i64)};
}

Values decompose(Builder& b, const OpView& op) {
  if (!drops(op)) return without_dropout(b, op);
  const AttentionView call = call_of(op);
  const AttentionParts p = attention_parts(b, call);
  ValueId weights = without_batch(b, attention_weights(b, call, p.scores));
  const ValueId rng = op.in(rng_operand);
  const ValueId kept = kept_weights(b, op, weights, rng);
  weights = b.where(kept, b.mul(weights, keep_scale(op.float_attr("dropout_p"))), 0.0);
  const ValueId seed = b.call1("select", {rng}, {{"dim", 0}, {"index", 0}});
  const ValueId step = b.call1("select", {rng}, {{"dim", 0}, {"index", 1}});
  const DType t = product_dtype(call, p.shape);
  const ValueId y = with_batch(b, p.shape, b.bmm(b.convert(weights, t), factor(b, call, p, 2, t)));
  const ValueId sums = op.bool_attr("compute_log_sumexp")
                           ? padded_sums(b, log_sums(b, p.scores))
                           : b.full(op.out_type(1).shape, 0.0, op.out_type(1).dtype);
  return {b.convert(y, op.out_type(0).dtype), sums, seed, step};
}

std::optional<loop::LibraryForm> form(const OpView& op) {
  if (!drops(op)) return std::nullopt;
  return attention_form(call_of(op), {.seed = {rng_operand, 0}, .step = {rng_operand, 1}});
}

// The gradients that the sums give query, key and bias.
void add_sums_grad(Builder& b, const GradView& op, Values& d) {
  const AttentionView call = call_of(op);
  const Dim rows = op.out_type(0).shape[2];
  const Values by_sums =
      sums_grad(b, call, without_padding(b, op.out(1), rows), without_padding(b, op.dout(1), rows));
  for (const size_t k : {0, 1})
    if (op.needs(static_cast<int>(k))) d[k] = by_sums[k];
  if (!op.has(bias_operand) || !op.needs(bias_operand)) return;
  const Type& m = op.in_type(bias_operand);
  d[bias_operand] = b.convert(b.sum_to(by_sums[2], m.shape), m.dtype);
}

Values grad(Builder& b, const GradView& op) {
  Values d = op.no_grads();
  if (!op.dout(1).is_none() && op.bool_attr("compute_log_sumexp")) add_sums_grad(b, op, d);
  if (op.dout(0).is_none()) return d;
  const bool bias = op.has(bias_operand);
  ValueId sums = op.out(1);
  if (!op.bool_attr("compute_log_sumexp")) {
    Values again = b.call(op.name(), {op.in(0), op.in(1), op.in(2), op.in(3)},
                          {{"compute_log_sumexp", true},
                           {"is_causal", op.bool_attr("is_causal")},
                           {"scale", op.attr("scale")}});
    if (again.size() == 4) sums = again[1];
  }
  const std::vector<bool> mask = {op.needs(0), op.needs(1), op.needs(2),
                                  bias && op.needs(bias_operand)};
  ValueId whole = op.in(bias_operand);
  if (mask[3]) {
    const AttentionShape s = attention_shape(call_of(op));
    whole = whole_mask(b, whole, s.with(s.rows, s.columns), call_of(op).work());
  }
  const Values grads = b.call(
      op.name() + "_backward",
      {op.dout(0), op.in(0), op.in(1), op.in(2), whole, op.out(0), sums, op.out(2), op.out(3)},
      {{"dropout_p", op.float_attr("dropout_p")},
       {"grad_input_mask", mask},
       {"is_causal", op.bool_attr("is_causal")},
       {"scale", op.attr("scale")},
       {"stream", op.attr("stream")}});
  const auto given = [&](size_t k, ValueId g) {
    if (k < bias_operand) return g;
    const Type& m = op.in_type(bias_operand);
    return b.convert(b.sum_to(g, m.shape), m.dtype);
  };
  for (size_t k = 0; k < 4 && grads.size() == 4; ++k)
    if (mask[k]) d[k] = d[k].valid() ? b.add(d[k], given(k, grads[k])) : given(k, grads[k]);
  return d;
}

Cost cost(const OpView& op) {
  const AttentionShape s = attention_shape(call_of(op));
  Dim weights = s.rows * s.columns;
  for (const Dim& d : s.batch) weights = weights * d;
  return Cost{op.env().hint_of(weights * (s.width + s.value_width)) * 2, bytes_moved(op)};
}

std::vector<Sample> samples() {
  using List = std::vector<SampleOperand>;
  const double inf = INFINITY;
  const SampleAttrs plain = {{"compute_log_sumexp", true}};
  const SampleAttrs bare = {{"compute_log_sumexp", false}};
  const auto with = [](SampleAttrs a, SampleAttrs more) {
    a.insert(a.end(), more.begin(), more.end());
    return a;
  };
  const SampleAttrs causal = with(plain, {{"is_causal", true}});
  const auto same = [](DType t, std::vector<int64_t> s, List more = {}) {
    List out(3, SampleOperand(any_of(t, std::move(s))));
    out.insert(out.end(), more.begin(), more.end());
    return out;
  };
  constexpr DType f = DType::f32;
  const SampleTensor rng = i64({2}).with({7, 3});
  std::vector<Sample> out;
  for (DType t : floating_dtypes) {
    out.push_back({same(t, {1, 2, 3, 4}), plain});
    out.push_back({same(t, {2, 1, 3, 2}), causal});
    out.push_back({{any_of(t, {1, 2, 2, 3}), any_of(t, {1, 2, 4, 3}), any_of(t, {1, 2, 4, 2}),
                    any_of(t, {2, 4})},
                   with(bare, {{"scale", 0.4}})});
  }
  const List odd = {f32({2, 2, 3, 4}), f32({2, 2, 5, 4}), f32({2, 2, 5, 6})};
  out.insert(
      out.end(),
      {{odd, plain},
       {odd, with(bare, {{"is_causal", true}})},
       {{f32({1, 1, 33, 2}), f32({1, 1, 4, 2}), f32({1, 1, 4, 2})}, plain},
       {{f32({1, 1, 32, 2}), f32({1, 1, 3, 2}), f32({1, 1, 3, 1})}, causal},
       {same(f, {1, 2, 3, 2}, {f32({1, 2, 3, 3})}), plain},
       {same(f, {2, 2, 3, 2}, {f32({2, 1, 1, 3})}), plain},
       {same(f, {1, 1, 2, 3}, {boolean({2, 2}).with({1, 0, 0, 0})}), plain},
       {same(f, {1, 1, 3, 2}, {f32({3, 3}).with({0, 1, 2, -inf, -inf, -inf, -1, 0, 0})}), plain},
       {same(f, {1, 1, 3, 2}, {f32({3, 3})}), causal},
       {same(f, {1, 2, 3, 2}, {std::nullopt, rng}),
        with(plain, {{"dropout_p", 0.4}, {"stream", 5}})},
       {same(f, {2, 1, 3, 2}, {f32({3, 3}), rng}), with(causal, {{"dropout_p", 0.25}})},
       {same(f, {1, 1, 3, 2}, {std::nullopt, rng}), with(plain, {{"dropout_p", 1.0}})},
       {same(DType::bf16, {1, 1, 3, 2}, {std::nullopt, rng}), with(plain, {{"dropout_p", 0.5}})},
       {same(f, {0, 2, 3, 2}), plain},
       {{f32({1, 1, 2, 3}), f32({1, 1, 0, 3}), f32({1, 1, 0, 2})}, bare},
       {{f32({1, 1, 2, 3}), f32({1, 1, 0, 3}), f32({1, 1, 0, 2})}, plain},
       {{f32({1, 1, 0, 3}), f32({1, 1, 2, 3}), f32({1, 1, 2, 2})}, plain}});
  return out;
}

std::vector<Reject> rejects(const std::string& name) {
  const SampleTensor x = f32({1, 2, 3, 4});
  const SampleAttrs plain = {{"compute_log_sumexp", true}};
  const SampleAttrs half = {{"compute_log_sumexp", true}, {"dropout_p", 0.5}};
  return {{"C3",
           {{x, f32({1, 2, 3, 5}), x}, plain},
           name + ": C3: widths of query and key: 4 and 5, expected equal"},
          {"C7",
           {{x, x, x, i64({3, 3})}, plain},
           name + ": C7: attn_mask is i64[3,3], expected bool, f32 or the dtype of query: f32"},
          {"C11",
           {{f32({2, 3, 4}), f32({2, 3, 4}), f32({2, 3, 4})}, plain},
           name + ": C11: query is f32[2,3,4], expected rank 4"},
          {"C12",
           {{x, x, x}, half},
           name + ": C12: dropout_p is 0.5 and rng is none, expected rng: i64[2]"},
          {"C12",
           {{x, x, x, std::nullopt, i32({2})}, half},
           name + ": C12: rng is i32[2], expected i64[2]"}};
}

}  // namespace

CLEAVE_OPS(efficient_attention) {
  const std::string name = "_scaled_dot_product_efficient_attention";
  return {OpDef{
      .name = name,
      .signature = "(Tensor query, Tensor key, Tensor value, Tensor? attn_bias, Tensor? rng=None, "
                   "bool compute_log_sumexp, float dropout_p=0.0, bool is_causal=False, *, "
                   "float? scale=None, int stream=0) -> (Tensor, Tensor, Tensor, Tensor)",
      .summary = "Attention, the logarithms of its sums, and the state of its random numbers.",
      .source = "aten::" + name + ", PyTorch 2.13; bits of its own",
      // Not random: equal calls read equal bits, so that the forward which a gradient calls again
      // is merged with the forward itself.
      .traits = Trait::compute_intensive | Trait::recomputable,
      .infer = infer,
      .reference = reference,
      .decompose = decompose,
      .grad = grad,
      .lower = loop::library(form),
      .cost = cost,
      .samples = samples,
      .rejects = [=] { return rejects(name); },
      .nondifferentiable = 0b1100,
  }};
}

}  // namespace cleave
