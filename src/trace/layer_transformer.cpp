#include "cleave/nn_transformer.h"
#include "trace/initial.h"

namespace cleave::nn {

TransformerEncoderLayer::TransformerEncoderLayer(int64_t d_model, int64_t nhead, Generator& rng,
                                                 const Options& options)
    : options_(options),
      self_attn_(d_model, nhead, rng,
                 {.dropout = options.dropout, .bias = options.bias, .dtype = options.dtype}),
      linear1_(d_model, options.dim_feedforward, rng,
               {.bias = options.bias, .dtype = options.dtype}),
      linear2_(options.dim_feedforward, d_model, rng,
               {.bias = options.bias, .dtype = options.dtype}),
      norm1_({d_model},
             {.eps = options.layer_norm_eps, .bias = options.bias, .dtype = options.dtype}),
      norm2_({d_model},
             {.eps = options.layer_norm_eps, .bias = options.bias, .dtype = options.dtype}) {
  add_module("self_attn", self_attn_);
  add_module("linear1", linear1_);
  add_module("linear2", linear2_);
  add_module("norm1", norm1_);
  add_module("norm2", norm2_);
}

Tensor TransformerEncoderLayer::attended(const Tensor& x, const Masks& masks, Location at) const {
  return dropout(self_attn_(x, x, x, masks, at), options_.dropout, is_training(), at);
}

Tensor TransformerEncoderLayer::fed_forward(const Tensor& x, Location at) const {
  const Tensor wide = linear1_(x, at);
  const Tensor active =
      options_.activation == Activation::relu ? relu(wide, at) : gelu(wide, "none", at);
  const Tensor kept = dropout(active, options_.dropout, is_training(), at);
  return dropout(linear2_(kept, at), options_.dropout, is_training(), at);
}

Tensor TransformerEncoderLayer::operator()(const Tensor& x, const Masks& masks, Location at) const {
  const Call call(*this);
  if (options_.norm_first) {
    const Tensor h = add(x, attended(norm1_(x, at), masks, at), 1, at);
    return add(h, fed_forward(norm2_(h, at), at), 1, at);
  }
  const Tensor h = norm1_(add(x, attended(x, masks, at), 1, at), at);
  return norm2_(add(h, fed_forward(h, at), 1, at), at);
}

}  // namespace cleave::nn
