// Attention in its forms, and positions that are turned into keys and queries.
#include <cmath>
#include <limits>

#include "import/onnx/rules.h"

namespace cleave::onnx {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// x[b, s, n*h] as [b, n, s, h]; one of 4 dims as it is.
Result<V> by_head(Call& c, size_t i, int64_t heads) {
  const Shape s = c.shape(i);
  V x = c.in(i);
  if (s.size() == 4) return x;
  if (s.size() != 3 || heads < 1)
    return user_error("operand {} has {} dims and {} heads", i, s.size(), heads);
  x = c.view(x, {s[0], s[1], heads, Dim::floordiv(s[2], Dim(heads))});
  return c.permute(x, {0, 2, 1, 3});
}

// Each head of keys and values for as many heads of queries: h0, h0, h1, h1.
V repeated_heads(Call& c, V x, const Dim& times) {
  const Shape s = c.shape(x);
  const V wide = c.expand(c.unsqueeze(x, 2), {s[0], s[1], times, s[2], s[3]});
  return c.op("reshape", {wide}, {{"shape", Shape{s[0], s[1] * times, s[2], s[3]}}});
}

V as_bias(Call& c, V mask, DType t) {
  if (c.type(mask).dtype != DType::boolean) return c.convert(mask, t);
  return c.where(mask, c.full({}, 0, t), -infinity);
}

// Keys and values as long as there are.
V padded_mask(Call& c, V mask, const Dim& keys) {
  if (c.rank(mask) == 0) return mask;
  const Dim n = c.shape(mask).back();
  if (n == keys || n == Dim(1)) return mask;
  if (!n.is_const() || !keys.is_const() || n.value() > keys.value()) return mask;
  const bool is_bool = c.type(mask).dtype == DType::boolean;
  return c.op("constant_pad_nd", {mask},
              {{"pad", Ints{0, keys.value() - n.value()}},
               {"value", is_bool ? AttrValue(false) : AttrValue(-infinity)}});
}

struct Heads {
  V q, k, v;
  Dim past = 0;
};

Result<Heads> heads_of(Call& c) {
  Heads h;
  CLEAVE_TRY(h.q, by_head(c, 0, c.integer("q_num_heads")));
  CLEAVE_TRY(h.k, by_head(c, 1, c.integer("kv_num_heads")));
  CLEAVE_TRY(h.v, by_head(c, 2, c.integer("kv_num_heads")));
  if (c.has(4)) {
    if (c.rank(4) != 4 || !c.has(5))
      return user_error("past keys and values are given together, of 4 dims");
    h.past = c.shape(4)[2];
    h.k = c.cat({c.in(4), h.k}, 2);
    h.v = c.cat({c.in(5), h.v}, 2);
  }
  c.give(1, h.k, c.element(1));
  c.give(2, h.v, c.element(2));
  if (!c.status().ok()) return h;
  const Dim q_heads = c.shape(h.q)[1], kv_heads = c.shape(h.k)[1];
  if (!(q_heads == kv_heads)) {
    if (!q_heads.is_const() || !kv_heads.is_const() || kv_heads.value() < 1 ||
        q_heads.value() % kv_heads.value() != 0)
      return user_error("{} heads of queries and {} of keys", q_heads.text(), kv_heads.text());
    const Dim times = q_heads.value() / kv_heads.value();
    h.k = repeated_heads(c, h.k, times);
    h.v = repeated_heads(c, h.v, times);
  }
  return h;
}

// The mask, what lies behind the query, and what is padding, as one bias; none if there is none.
V bias_of(Call& c, const Heads& h, DType t) {
  V bias = V::none();
  const Dim queries = c.shape(h.q)[2], keys = c.shape(h.k)[2];
  const auto add = [&](V b) { bias = bias.valid() ? c.add(bias, b) : b; };
  if (c.has(3)) add(as_bias(c, padded_mask(c, c.in(3), keys), t));
  if (c.integer("is_causal") != 0) {
    const V row = c.unsqueeze(c.op("arange", {}, {{"end", queries}}), 1);
    const V column = c.unsqueeze(c.op("arange", {}, {{"end", keys}}), 0);
    add(as_bias(c, c.op("le", {column, c.add(row, AttrValue(h.past))}), t));
  }
  if (c.has(6)) {
    const V lengths = c.view(c.convert(c.in(6), DType::i64), {c.shape(h.q)[0], 1, 1, 1});
    const V column = c.view(c.op("arange", {}, {{"end", keys}}), {1, 1, 1, keys});
    add(as_bias(c, c.op("lt", {column, lengths}), t));
  }
  return bias;
}

Status attention(Call& c) {
  CLEAVE_TRY(const Heads h, heads_of(c));
  if (!c.status().ok()) return {};
  const Dim size = c.shape(h.q)[3];
  if (!size.is_const()) return unsupported("heads of a size that isn't a number");
  const double scale =
      c.given("scale") ? c.real("scale") : 1 / std::sqrt(static_cast<double>(size.value()));
  const double root = std::sqrt(scale), cap = c.real("softcap");
  const DType t = c.dtype(0);
  const V scores =
      c.matmul(c.mul(h.q, root), c.mul(c.op("transpose", {h.k}, {{"dim0", 2}, {"dim1", 3}}), root));
  const V capped = cap > 0 ? c.mul(c.op("tanh", {c.div(scores, cap)}), cap) : scores;
  const V bias = bias_of(c, h, t);
  const V masked = bias.valid() ? c.add(capped, bias) : capped;
  DType precise = t;
  if (const int64_t e = c.integer("softmax_precision"); e > 0 && e <= last_element)
    precise = carrier(static_cast<Element>(e)).value_or(t);
  V weights = softmax(c, c.convert(masked, precise), 3);
  weights = c.convert(weights, t);
  const int64_t mode = c.integer("qk_matmul_output_mode");
  c.give(3, mode == 0 ? scores : mode == 1 ? capped : mode == 2 ? masked : weights, c.element(0));
  V y = c.matmul(weights, c.convert(h.v, t));
  if (c.rank(0) == 3) {
    const Shape s = c.shape(y);
    if (!c.status().ok()) return {};
    y = c.op("reshape", {c.permute(y, {0, 2, 1, 3})}, {{"shape", Shape{s[0], s[2], s[1] * s[3]}}});
  }
  c.give(0, y, c.element(0));
  return {};
}

// Scores and weights pass through graphs of the model.
Status flex_attention(Call& c) {
  if (c.rank(0) != 4 || c.rank(1) != 4 || c.rank(2) != 4)
    return user_error("expected operands of 4 dims");
  const Shape q = c.shape(0), k = c.shape(1);
  V key = c.in(1), value = c.in(2);
  if (!(q[1] == k[1])) {
    if (!q[1].is_const() || !k[1].is_const() || k[1].value() < 1)
      return unsupported("heads whose numbers aren't known");
    key = repeated_heads(c, key, q[1].value() / k[1].value());
    value = repeated_heads(c, value, q[1].value() / k[1].value());
  }
  if (!q[3].is_const()) return unsupported("heads of a size that isn't a number");
  const double scale =
      c.given("scale") ? c.real("scale") : 1 / std::sqrt(static_cast<double>(q[3].value()));
  Element precise = c.dtype(0) == DType::f64 ? Element::f64 : Element::f32;
  if (const int64_t e = c.integer("softmax_precision"); e > 0 && e <= last_element)
    precise = static_cast<Element>(e);
  const auto in = carrier(precise);
  if (!in) return user_error("a precision of {}", name_of(precise));
  V x =
      c.mul(c.convert(c.matmul(c.in(0), c.op("transpose", {key}, {{"dim0", 2}, {"dim1", 3}})), *in),
            scale);
  const auto changed = [&](V v, const char* name) -> Result<V> {
    const Attribute* a = c.attribute(name);
    if (!a || !a->graph || !v.valid()) return v;
    CLEAVE_TRY(const std::vector<Value> out,
               c.importer().inlined(*a->graph, {c.importer().made(v, precise)}, c.context()));
    if (out.size() != 1) return user_error("{} has {} results, expected 1", name, out.size());
    if (out[0].kind == Value::Kind::refused) return unsupported("{} isn't covered", name);
    return c.importer().resolve(out[0], c.builder());
  };
  CLEAVE_TRY(x, changed(x, "score_mod"));
  x = softmax(c, x, 3);
  CLEAVE_TRY(x, changed(x, "prob_mod"));
  c.give(0, c.matmul(c.convert(x, c.dtype(0)), value), c.element(0));
  return {};
}

// Pairs of elements turned by the angle of their position: (x, y) -> (x cos - y sin, x sin + y
// cos).
Status rotary_embedding(Call& c) {
  const Shape given = c.shape(0);
  V x = c.in(0);
  if (given.size() == 4) {
    x = c.permute(x, {0, 2, 1, 3});
  } else {
    const int64_t heads = c.integer("num_heads");
    if (given.size() != 3 || heads < 1)
      return user_error("an operand of {} dims and {} heads", given.size(), heads);
    x = c.view(x, {given[0], given[1], heads, Dim::floordiv(given[2], Dim(heads))});
  }
  if (!c.status().ok()) return {};
  const Shape s = c.shape(x);  // [b, s, n, h]
  const Dim turned =
      c.integer("rotary_embedding_dim") > 0 ? Dim(c.integer("rotary_embedding_dim")) : s[3];
  const Dim half = Dim::floordiv(turned, Dim(2));
  const auto angles = [&](size_t i) {
    V a = c.in(i);
    if (c.has(3)) {
      Values at = {c.convert(c.in(3), DType::i64)};
      a = c.op("index", {a, CallOperand(std::move(at))});
    }
    return c.unsqueeze(c.slice(a, 2, 0, half), 2);
  };
  const V cos = angles(1), sin = angles(2);
  const V part = c.slice(x, 3, 0, turned);
  const bool pairs = c.integer("interleaved") != 0;
  const V first = pairs ? c.slice(part, 3, 0, turned, 2) : c.slice(part, 3, 0, half);
  const V second = pairs ? c.slice(part, 3, 1, turned, 2) : c.slice(part, 3, half, turned);
  const V real = c.sub(c.mul(first, cos), c.mul(second, sin));
  const V imaginary = c.add(c.mul(first, sin), c.mul(second, cos));
  V y = pairs
            ? c.op("reshape", {c.op("stack", {CallOperand(Values{real, imaginary})}, {{"dim", 4}})},
                   {{"shape", Shape{s[0], s[1], s[2], turned}}})
            : c.cat({real, imaginary}, 3);
  if (!(turned == s[3])) y = c.cat({y, c.slice(x, 3, turned, s[3])}, 3);
  y = given.size() == 4 ? c.permute(y, {0, 2, 1, 3}) : c.op("reshape", {y}, {{"shape", given}});
  c.give(0, y, c.element(0));
  return {};
}

// A state of keys by values, step by step: S' = decay S + beta k (v - k S); y = scale q S'.
Status linear_attention(Call& c) {
  const int64_t q_heads = c.integer("q_num_heads"), heads = c.integer("kv_num_heads");
  if (c.rank(0) != 3 || c.rank(1) != 3 || c.rank(2) != 3 || heads < 1 || q_heads % heads != 0)
    return user_error("expected operands of 3 dims, and heads that fit");
  CLEAVE_TRY(const Ints q, c.sizes(0));
  CLEAVE_TRY(const Ints k, c.sizes(1));
  CLEAVE_TRY(const Ints v, c.sizes(2));
  const int64_t batch = q[0], steps = q[1], group = q_heads / heads, key = k[2] / heads,
                value = v[2] / heads;
  if (steps > 2048) return unsupported("{} steps, expected at most 2048", steps);
  const std::string rule = c.text("update_rule", "gated_delta");
  const bool gated = rule == "gated" || rule == "gated_delta",
             delta = rule == "delta" || rule == "gated_delta";
  const DType t = c.dtype(0) == DType::f64 ? DType::f64 : DType::f32;
  const auto wide = [&](size_t i) { return c.convert(c.in(i), t); };
  double scale = c.real("scale");
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(key));
  const V queries = c.view(wide(0), {batch, steps, heads, group, key});
  const V keys = c.view(wide(1), {batch, steps, heads, key}),
          values = c.view(wide(2), {batch, steps, heads, value});
  V state = c.has(3) ? wide(3) : c.full({batch, heads, key, value}, 0, t);
  V decay = V::none(), beta = V::none();
  if (gated) {
    if (c.rank(4) != 3) return user_error("the rule {} needs a decay of 3 dims", rule);
    const Dim each = Dim::floordiv(c.shape(4)[2], Dim(heads));
    decay = c.op("exp", {c.view(wide(4), {batch, steps, heads, each, 1})});
  }
  if (delta) {
    if (c.rank(5) != 3) return user_error("the rule {} needs a beta of 3 dims", rule);
    beta = c.view(wide(5), {batch, steps, c.shape(5)[2], 1, 1});
  }
  Values out;
  for (int64_t step = 0; step < steps && c.status().ok(); ++step) {
    const V kt = c.unsqueeze(c.select(keys, 1, step), 3);
    V vt = c.unsqueeze(c.select(values, 1, step), 2);
    if (gated) state = c.mul(state, c.select(decay, 1, step));
    if (delta) vt = c.mul(c.sub(vt, c.sum(c.mul(state, kt), {2}, true)), c.select(beta, 1, step));
    state = c.add(state, c.mul(kt, vt));
    const V y = c.matmul(c.select(queries, 1, step), state);  // [b, h, group, v]
    out.push_back(c.op("reshape", {c.mul(y, scale)}, {{"shape", Shape{batch, q_heads * value}}}));
  }
  if (!c.status().ok()) return {};
  c.give(0, c.convert(c.op("stack", {CallOperand(std::move(out))}, {{"dim", 1}}), c.dtype(0)),
         c.element(0));
  c.give(1, c.convert(state, c.has(3) ? c.dtype(3) : c.dtype(0)),
         c.has(3) ? c.element(3) : c.element(0));
  return {};
}

constexpr RuleEntry entries[] = {{"Attention", attention},
                                 {"ai.onnx.preview.FlexAttention", flex_attention},
                                 {"RotaryEmbedding", rotary_embedding},
                                 {"LinearAttention", linear_attention}};

}  // namespace

std::span<const RuleEntry> attention_rules() { return entries; }

}  // namespace cleave::onnx
