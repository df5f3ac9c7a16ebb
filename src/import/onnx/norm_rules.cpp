// Normalizations: of batches, layers, groups, instances, neighbours in the channels.
#include "import/onnx/rules.h"

namespace cleave::onnx {
namespace {

// A vector of channels beside x[n, c, ...].
V by_channel(Call& c, V v, const Shape& of) {
  Shape s(of.size(), Dim(1));
  if (s.size() > 1) s[1] = of[1];
  return c.view(v, s);
}

// Running statistics; in training mode those of the batch, and new running ones as results.
Status batch_normalization(Call& c) {
  const Shape s = c.shape(0);
  if (s.size() < 2 || c.count() < 5) return user_error("expected [n, c, ...] and four vectors");
  const double eps = c.real("epsilon", 1e-5), momentum = c.real("momentum", 0.9);
  if (c.version() >= 14 && c.integer("training_mode") != 0) {
    Ints axes = other_axes(c.rank(0), {1});
    const V x = c.in(0);
    const V mean = c.mean(x, axes, true);
    const V centered = c.sub(x, mean);
    const V var = c.mean(c.mul(centered, centered), axes, true);
    V y = c.mul(centered, c.op("rsqrt", {c.add(var, eps)}));
    y = c.add(c.mul(y, by_channel(c, c.in(1), s)), by_channel(c, c.in(2), s));
    c.give(0, c.convert(y, c.dtype(0)), c.element(0));
    const auto running = [&](size_t k, V now) {
      const V old = c.in(k + 2);
      c.give(k, c.add(c.mul(old, momentum),
                      c.mul(c.convert(c.view(now, {s[1]}), c.type(old).dtype), 1 - momentum)));
    };
    running(1, mean);
    running(2, var);
    return {};
  }
  if (c.dtype(0) == c.dtype(3) && c.dtype(0) == c.dtype(1)) {
    const Values y =
        c.ops("_native_batch_norm_legit_no_training", {c.in(0), c.in(1), c.in(2), c.in(3), c.in(4)},
              {{"momentum", momentum}, {"eps", eps}});
    if (!y.empty()) c.give(0, y[0], c.element(0));
    return {};
  }
  const DType wide = c.dtype(3);
  V y = c.sub(c.convert(c.in(0), wide), by_channel(c, c.in(3), s));
  y = c.mul(y, c.op("rsqrt", {c.add(by_channel(c, c.in(4), s), eps)}));
  y = c.add(c.mul(y, c.convert(by_channel(c, c.in(1), s), wide)),
            c.convert(by_channel(c, c.in(2), s), wide));
  c.give(0, c.convert(y, c.dtype(0)), c.element(0));
  return {};
}

// What stage one is computed in: f32 unless stash_type says otherwise.
DType stage_dtype(Call& c) {
  const int64_t stash = c.integer("stash_type", 1);
  if (c.dtype(0) == DType::f64) return DType::f64;
  const auto t =
      stash > 0 && stash <= last_element ? carrier(static_cast<Element>(stash)) : std::nullopt;
  return t && is_floating(*t) ? *t : DType::f32;
}

Status layer_normalization(Call& c) {
  const int64_t rank = c.rank(0);
  CLEAVE_TRY(const int64_t axis, c.axis(c.integer("axis", -1), rank));
  const Shape s = c.shape(0);
  const Shape normalized(s.begin() + axis, s.end());
  const double eps = c.real("epsilon", 1e-5);
  const V x = c.in(0), scale = c.in(1), bias = c.in(2);
  const bool plain = c.dtype(0) == stage_dtype(c) && c.shape(1) == normalized &&
                     (!c.has(2) || c.shape(2) == normalized);
  if (plain) {
    const Values y = c.ops("native_layer_norm", {x, scale, bias},
                           {{"normalized_shape", normalized}, {"eps", eps}});
    for (size_t k = 0; k < y.size(); ++k) c.give(k, y[k]);
    return {};
  }
  Ints axes;
  for (int64_t d = axis; d < rank; ++d) axes.push_back(d);
  const V wide = c.convert(x, stage_dtype(c));
  const V mean = c.mean(wide, axes, true);
  const V centered = c.sub(wide, mean);
  const V inverse = c.op("rsqrt", {c.add(c.mean(c.mul(centered, centered), axes, true), eps)});
  V y = c.mul(c.convert(c.mul(centered, inverse), c.dtype(0)), scale);
  if (c.has(2)) y = c.add(y, bias);
  c.give(0, y, c.element(0));
  c.give(1, mean);
  c.give(2, inverse);
  return {};
}

Status rms_normalization(Call& c) {
  const int64_t rank = c.rank(0);
  CLEAVE_TRY(const int64_t axis, c.axis(c.integer("axis", -1), rank));
  Ints axes;
  for (int64_t d = axis; d < rank; ++d) axes.push_back(d);
  const V x = c.convert(c.in(0), stage_dtype(c));
  const V inverse =
      c.op("rsqrt", {c.add(c.mean(c.mul(x, x), axes, true), c.real("epsilon", 1e-5))});
  const V y = c.mul(c.convert(c.mul(x, inverse), c.dtype(0)), c.in(1));
  c.give(0, c.convert(y, c.dtype(0)), c.element(0));
  return {};
}

// (x - mean) / sqrt(var + eps) of the elements of each group.
V group_normalized(Call& c, V x, int64_t groups, double eps) {
  const Shape s = c.shape(x);
  const Dim rest = Dim::floordiv(product_of(s, 1, s.size()), Dim(groups));
  const V g = c.view(x, {s[0], groups, rest});
  const V centered = c.sub(g, c.mean(g, {2}, true));
  const V var = c.mean(c.mul(centered, centered), {2}, true);
  return c.view(c.mul(centered, c.op("rsqrt", {c.add(var, eps)})), s);
}

// Scale and bias are one number a group before opset 21, one a channel since.
Status group_normalization(Call& c) {
  const Shape s = c.shape(0);
  const int64_t groups = c.integer("num_groups");
  if (s.size() < 2 || groups < 1) return user_error("expected [n, c, ...] and at least one group");
  const V x = c.convert(c.in(0), stage_dtype(c));
  V y = c.convert(group_normalized(c, x, groups, c.real("epsilon", 1e-5)), c.dtype(0));
  const auto each_channel = [&](V v) {
    if (c.version() >= 21 || c.shape(v) == Shape{s[1]}) return by_channel(c, v, s);
    const Dim channels = Dim::floordiv(s[1], Dim(groups));
    return by_channel(c,
                      c.op("reshape", {c.expand(c.unsqueeze(v, 1), {groups, channels})},
                           {{"shape", Shape{s[1]}}}),
                      s);
  };
  y = c.add(c.mul(y, each_channel(c.in(1))), each_channel(c.in(2)));
  c.give(0, y, c.element(0));
  return {};
}

Status instance_normalization(Call& c) {
  const Shape s = c.shape(0);
  if (s.size() < 3 || !s[1].is_const()) return unsupported("an operand of {} dims", s.size());
  V y = group_normalized(c, c.in(0), s[1].value(), c.real("epsilon", 1e-5));
  y = c.add(c.mul(y, by_channel(c, c.in(1), s)), by_channel(c, c.in(2), s));
  c.give(0, y, c.element(0));
  return {};
}

// x / (bias + alpha / size * sum of the squares of its neighbours in the channels)^beta.
Status lrn(Call& c) {
  const Shape s = c.shape(0);
  const int64_t size = c.integer("size");
  if (s.size() < 2 || size < 1)
    return user_error("expected [n, c, ...] and at least one neighbour");
  const V x = c.in(0);
  const int64_t before = (size - 1) / 2, after = size - 1 - before;
  Ints pad(2 * (s.size() - 1), 0);
  pad[pad.size() - 2] = before;
  pad[pad.size() - 1] = after;
  const V squares = c.op("constant_pad_nd", {c.mul(x, x)}, {{"pad", pad}});
  V sum = c.slice(squares, 1, 0, s[1]);
  for (int64_t k = 1; k < size && c.status().ok(); ++k)
    sum = c.add(sum, c.slice(squares, 1, k, s[1] + Dim(k)));
  const double alpha = c.real("alpha", 0.0001) / static_cast<double>(size);
  const V base = c.add(c.mul(sum, alpha), c.real("bias", 1));
  c.give(0, c.div(x, c.op("pow", {base, c.real("beta", 0.75)})), c.element(0));
  return {};
}

Status lp_normalization(Call& c) {
  CLEAVE_TRY(const int64_t axis, c.axis(c.integer("axis", -1), c.rank(0)));
  const int64_t p = c.integer("p", 2);
  if (p != 1 && p != 2) return user_error("p is {}, expected 1 or 2", p);
  const V x = c.in(0);
  V norm = c.sum(p == 1 ? c.op("abs", {x}) : c.mul(x, x), {axis}, true);
  if (p == 2) norm = c.op("sqrt", {norm});
  const V zero = c.op("eq", {norm, 0});  // a line of zeros stays
  c.give(0, c.div(x, c.where(zero, 1.0, norm)), c.element(0));
  return {};
}

Status mean_variance_normalization(Call& c) {
  CLEAVE_TRY(const Ints axes, c.axes(c.list("axes", {0, 2, 3}), c.rank(0)));
  const V x = c.in(0);
  const V centered = c.sub(x, c.mean(x, axes, true));
  const V deviation = c.op("sqrt", {c.mean(c.mul(centered, centered), axes, true)});
  c.give(0, c.div(centered, c.add(deviation, 1e-9)), c.element(0));
  return {};
}

constexpr RuleEntry entries[] = {{"BatchNormalization", batch_normalization},
                                 {"LayerNormalization", layer_normalization},
                                 {"RMSNormalization", rms_normalization},
                                 {"GroupNormalization", group_normalization},
                                 {"InstanceNormalization", instance_normalization},
                                 {"LRN", lrn},
                                 {"LpNormalization", lp_normalization},
                                 {"MeanVarianceNormalization", mean_variance_normalization}};

}  // namespace

std::span<const RuleEntry> norm_rules() { return entries; }

}  // namespace cleave::onnx
