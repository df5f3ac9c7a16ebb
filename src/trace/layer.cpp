// The layers of cleave/nn.h: initial values as in PyTorch's reset_parameters, forward composed of
// functions.
//
//   Linear       kaiming_uniform(a=sqrt(5)): bound = sqrt(6 / ((1 + a^2) fan_in)) = 1/sqrt(fan_in)
//   Embedding    normal(0, 1)
//   in_proj      xavier_uniform: bound = sqrt(6 / (fan_in + fan_out))
#include <cmath>
#include <limits>

#include "cleave/nn_activation.h"
#include "trace/initial.h"
#include "trace/recording.h"

namespace cleave::nn {
Linear::Linear(int64_t in_features, int64_t out_features, Generator& rng, const Options& options)
    : bias_(options.bias) {
  require_sizes("Linear", {in_features, out_features});
  const double bound = 1 / std::sqrt(static_cast<double>(in_features));
  add_parameter("weight", uniform(rng, {out_features, in_features}, bound, options.dtype));
  if (bias_) add_parameter("bias", uniform(rng, {out_features}, bound, options.dtype));
}

Tensor Linear::operator()(const Tensor& x, Location at) const {
  const Call call(*this);
  return linear(x, parameter("weight"), bias_ ? Tensor(parameter("bias")) : Tensor(), at);
}

Embedding::Embedding(int64_t num_embeddings, int64_t embedding_dim, Generator& rng,
                     const Options& options) {
  require_sizes("Embedding", {num_embeddings, embedding_dim});
  HostTensor weight = rng.normal({num_embeddings, embedding_dim}).to(options.dtype);
  if (options.padding_idx) {
    padding_idx_ = *options.padding_idx;
    if (padding_idx_ < -num_embeddings || padding_idx_ >= num_embeddings)
      throw_failure(user_error("nn::Embedding: padding_idx {} is outside [{}, {})", padding_idx_,
                               -num_embeddings, num_embeddings));
    if (padding_idx_ < 0) padding_idx_ += num_embeddings;
    for (int64_t k = 0; k < embedding_dim; ++k)
      weight.set_number(padding_idx_ * embedding_dim + k, 0);
  }
  add_parameter("weight", std::move(weight));
}

Tensor Embedding::operator()(const Tensor& indices, Location at) const {
  const Call call(*this);
  return embedding(indices, parameter("weight"), padding_idx_, at);
}

LayerNorm::LayerNorm(std::vector<int64_t> normalized_shape, const Options& options)
    : shape_(std::move(normalized_shape)), options_(options) {
  for (const int64_t s : shape_) require_sizes("LayerNorm", {s});
  if (!options_.elementwise_affine) return;
  add_parameter("weight", filled(shape_, 1, options.dtype));
  if (options_.bias) add_parameter("bias", filled(shape_, 0, options.dtype));
}

Tensor LayerNorm::operator()(const Tensor& x, Location at) const {
  const Call call(*this);
  Tensor weight, bias;
  if (options_.elementwise_affine) {
    weight = parameter("weight");
    if (options_.bias) bias = parameter("bias");
  }
  return layer_norm(x, shape_, weight, bias, options_.eps, at);
}

Tensor Dropout::operator()(const Tensor& x, Location at) const {
  return dropout(x, p_, is_training(), at);
}

PReLU::PReLU(int64_t num_parameters, double init, DType dtype) {
  require_sizes("PReLU", {num_parameters});
  add_parameter("weight", filled({num_parameters}, init, dtype));
}

MultiheadAttention::MultiheadAttention(int64_t embed_dim, int64_t num_heads, Generator& rng,
                                       const Options& options)
    : embed_dim_(embed_dim), num_heads_(num_heads), options_(options),
      out_proj_(embed_dim, embed_dim, rng, {.bias = options.bias, .dtype = options.dtype}) {
  require_sizes("MultiheadAttention", {embed_dim, num_heads});
  if (embed_dim % num_heads != 0)
    throw_failure(
        user_error("nn::MultiheadAttention: embed_dim {} is not divisible by num_heads {}",
                   embed_dim, num_heads));
  const double bound = std::sqrt(6.0 / static_cast<double>(4 * embed_dim));
  add_parameter("in_proj_weight", uniform(rng, {3 * embed_dim, embed_dim}, bound, options.dtype));
  if (options.bias) add_parameter("in_proj_bias", filled({3 * embed_dim}, 0, options.dtype));
  add_module("out_proj", out_proj_);
  if (options.bias) out_proj_.parameter("bias").set(filled({embed_dim}, 0, options.dtype));
}

namespace {

bool same(const Tensor& a, const Tensor& b) {
  return trace::Access::recording(a) == trace::Access::recording(b) &&
         trace::Access::value(a) == trace::Access::value(b) &&
         trace::Access::leaf(a) == trace::Access::leaf(b);
}

// query, key and value multiplied by their parts of in_proj, each [N, length, E].
Tensors projected(const Tensors& qkv, const Tensor& weight, const Tensor& bias, Location at) {
  if (same(qkv[0], qkv[1]) && same(qkv[1], qkv[2]))
    return chunk(linear(qkv[0], weight, bias, at), 3, -1, at);
  const Tensors weights = chunk(weight, 3, 0, at);
  const Tensors biases = bias.defined() ? chunk(bias, 3, 0, at) : Tensors(3);
  Tensors out;
  for (int i = 0; i < 3; ++i) out.push_back(linear(qkv[i], weights[i], biases[i], at));
  return out;
}

// Turns a mask of excluded positions into one that is added to scores of `dtype`.
Tensor additive(const Tensor& mask, DType dtype, Location at) {
  if (mask.dtype() != DType::boolean) return mask;
  const double low = -std::numeric_limits<double>::infinity();
  return where(mask, full({}, low, dtype, at), full({}, 0.0, dtype, at), at);
}

}  // namespace

Tensor MultiheadAttention::operator()(const Tensor& query, const Tensor& key, const Tensor& value,
                                      const Masks& masks, Location at) const {
  const Call call(*this);
  for (const Tensor* t : {&query, &key, &value})
    if (!t->defined() || t->dim() != 3 || t->size(2) != embed_dim_)
      trace::refuse(at, "nn::MultiheadAttention: got {}, expected [batch, length, {}]",
                    t->type_text(), embed_dim_);
  const int64_t batch = query.size(0), length = query.size(1), source = key.size(1);
  const int64_t width = embed_dim_ / num_heads_;
  const Tensor bias = options_.bias ? Tensor(parameter("in_proj_bias")) : Tensor();
  Tensors heads = projected({query, key, value}, parameter("in_proj_weight"), bias, at);
  for (Tensor& h : heads)
    h = permute(view(h, {batch, h.size(1), num_heads_, width}, at), {0, 2, 1, 3}, at);

  AttentionOptions attention;
  attention.dropout_p = is_training() ? options_.dropout : 0;
  attention.is_causal =
      masks.is_causal && !masks.attn_mask.defined() && !masks.key_padding_mask.defined();
  if (masks.attn_mask.defined()) {
    const Tensor mask = additive(masks.attn_mask, query.dtype(), at);
    attention.attn_mask =
        mask.dim() == 3 ? view(mask, {batch, num_heads_, length, source}, at) : mask;
  } else if (masks.is_causal && !attention.is_causal) {
    attention.attn_mask =
        additive(triu(ones({length, source}, DType::boolean, at), 1, at), query.dtype(), at);
  }
  if (masks.key_padding_mask.defined()) {
    const Tensor padding =
        view(additive(masks.key_padding_mask, query.dtype(), at), {batch, 1, 1, source}, at);
    attention.attn_mask =
        attention.attn_mask.defined() ? add(attention.attn_mask, padding, 1, at) : padding;
  }
  const Tensor y = scaled_dot_product_attention(heads[0], heads[1], heads[2], attention, at);
  return out_proj_(view(permute(y, {0, 2, 1, 3}, at), {batch, length, embed_dim_}, at), at);
}

}  // namespace cleave::nn
