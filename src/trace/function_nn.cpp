// Layers as functions, and attention.
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

// The source of a call's random numbers; undefined if the call drops nothing.
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

Tensor rms_norm(const Tensor& input, const Sizes& normalized_shape, const Tensor& weight,
                std::optional<double> eps, Location at) {
  require_defined("rms_norm", "input", input, at);
  NamedAttrs attrs{{"normalized_shape", normalized_shape}};
  attrs.emplace_back("eps", eps ? AttrValue(*eps) : AttrValue());
  return record1("_fused_rms_norm", {input, weight}, std::move(attrs), at);
}

Tensor group_norm(const Tensor& input, int64_t num_groups, const Tensor& weight, const Tensor& bias,
                  double eps, Location at) {
  require_defined("group_norm", "input", input, at);
  if (input.dim() < 2)
    trace::refuse(at, "group_norm: input is {}, expected [N,C,*]", input.type_text());
  const int64_t n = input.size(0), c = input.size(1);
  int64_t each = 1;
  for (int64_t d = 2; d < input.dim(); ++d) each *= input.size(d);
  return record1("native_group_norm", {input, weight, bias},
                 {{"N", n}, {"C", c}, {"HxW", each}, {"group", num_groups}, {"eps", eps}}, at);
}

}  // namespace cleave
