// Layers as functions, attention, losses.
#include "trace/record.h"

namespace cleave {

using trace::record1;
using trace::require_defined;

Tensor embedding(const Tensor& indices, const Tensor& weight, int64_t padding_idx, Location at) {
  require_defined("embedding", "indices", indices, at);
  require_defined("embedding", "weight", weight, at);
  return record1("embedding", {weight, indices}, {{"padding_idx", padding_idx}}, at);
}

Tensor layer_norm(const Tensor& input, const Sizes& normalized_shape, const Tensor& weight,
                  const Tensor& bias, double eps, Location at) {
  require_defined("layer_norm", "input", input, at);
  return record1("native_layer_norm", {input, weight, bias},
                 {{"normalized_shape", normalized_shape}, {"eps", eps}}, at);
}

namespace {

// Where the numbers of a call that drops come from; nothing where it doesn't drop.
struct Draw {
  Tensor rng;
  int64_t stream = 0;
};

Draw draw_of(const char* op, const std::vector<trace::Arg>& args, double p, bool training,
             Location at) {
  if (!(p >= 0 && p <= 1)) trace::refuse(at, "{}: p is {}, expected 0 <= p <= 1", op, p);
  const trace::RecordingPtr r = trace::common_recording(op, args, at);
  if (!training || p == 0 || r->mode() == trace::Mode::evaluation) return {};
  if (r->is_free())
    trace::refuse(at, "{}: the input belongs to no program yet, so it has no random numbers", op);
  return {trace::Access::tensor(r, r->rng()), r->next_stream()};
}

}  // namespace

Tensor dropout(const Tensor& input, double p, bool training, Location at) {
  require_defined("dropout", "input", input, at);
  const Draw draw = draw_of("dropout", {input}, p, training, at);
  if (!draw.rng.defined()) return input;
  return record1("native_dropout", {input, draw.rng},
                 {{"p", p}, {"train", true}, {"stream", draw.stream}}, at);
}

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionOptions& options, Location at) {
  const char* op = "scaled_dot_product_attention";
  require_defined(op, "query", query, at);
  require_defined(op, "key", key, at);
  require_defined(op, "value", value, at);
  if (options.is_causal && options.attn_mask.defined())
    trace::refuse(at, "{}: is_causal and attn_mask exclude each other", op);
  const Draw draw = draw_of(op, {query, key, value}, options.dropout_p, true, at);
  NamedAttrs attrs{{"is_causal", options.is_causal}};
  if (options.scale) attrs.emplace_back("scale", *options.scale);
  if (draw.rng.defined()) {
    attrs.emplace_back("dropout_p", options.dropout_p);
    attrs.emplace_back("stream", draw.stream);
  }
  return record1(op, {query, key, value, options.attn_mask, draw.rng}, std::move(attrs), at);
}

namespace {

Tensor reduced(const Tensor& losses, Reduction reduction, Location at) {
  switch (reduction) {
    case Reduction::mean: return mean(losses, {}, false, at);
    case Reduction::sum: return sum(losses, {}, false, at);
    case Reduction::none: break;
  }
  return losses;
}

}  // namespace

// nll[i] = -log_softmax(input)[i, target[i]]; the mean is over the targets that count. With label
// smoothing s: (1 - s) nll + s/C * sum_c -log_softmax(input)[i, c].
Tensor cross_entropy(const Tensor& input, const Tensor& target, const CrossEntropyOptions& options,
                     Location at) {
  require_defined("cross_entropy", "input", input, at);
  require_defined("cross_entropy", "target", target, at);
  Sizes expected = input.sizes();
  if (expected.size() >= 2) expected.erase(expected.begin() + 1);
  if (input.dim() < 2 || target.sizes() != expected || !is_integer(target.dtype()))
    trace::refuse(at, "cross_entropy: input {} and target {}: expected [N,C,*] and i64[N,*]",
                  input.type_text(), target.type_text());
  const double smoothing = options.label_smoothing;
  if (!(smoothing >= 0 && smoothing <= 1))
    trace::refuse(at, "cross_entropy: label_smoothing is {}, expected 0 <= label_smoothing <= 1",
                  smoothing);
  const Tensor logp = log_softmax(input, 1, at);
  const Tensor counts = ne(target, options.ignore_index, at);
  const Tensor safe = where(counts, target, 0, at);
  const Tensor picked = squeeze(gather(logp, 1, unsqueeze(safe, 1, at), at), 1, at);
  Tensor losses = where(counts, neg(picked, at), 0.0, at);
  if (smoothing > 0) {
    const Tensor spread = where(counts, neg(sum(logp, 1, false, at), at), 0.0, at);
    losses = add(mul(losses, 1 - smoothing, at),
                 mul(spread, smoothing / static_cast<double>(input.size(1)), at), 1, at);
  }
  if (options.reduction != Reduction::mean) return reduced(losses, options.reduction, at);
  const Tensor count = to(sum(counts, {}, false, at), losses.dtype(), at);
  return div(sum(losses, {}, false, at), count, "", at);
}

Tensor mse_loss(const Tensor& input, const Tensor& target, Reduction reduction, Location at) {
  require_defined("mse_loss", "input", input, at);
  require_defined("mse_loss", "target", target, at);
  if (input.sizes() != target.sizes())
    trace::refuse(at, "mse_loss: input {} and target {} differ in shape", input.type_text(),
                  target.type_text());
  return reduced(square(sub(input, target, 1, at), at), reduction, at);
}

}  // namespace cleave
