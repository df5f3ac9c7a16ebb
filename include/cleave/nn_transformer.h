// The encoder layer of "Attention is all you need" (Vaswani et al., 2017), like
// torch.nn.TransformerEncoderLayer with batch_first.
//
//   nn::TransformerEncoderLayer layer(64, 4, rng, {.dim_feedforward = 256, .norm_first = true});
//   Tensor y = layer(x, {.is_causal = true});     // x, y [N,L,64]
//
//   norm_first:  x += attention(norm1 x);       x += linear2(activation(linear1(norm2 x)))
//   else:        x = norm1(x + attention x);    x = norm2(x + linear2(activation(linear1 x)))
//
// Dropout after attention's softmax, each sublayer and the activation. State names: self_attn.*,
// linear1.*, linear2.*, norm1.*, norm2.*.
#pragma once
#include "cleave/nn.h"

namespace cleave::nn {

class CLEAVE_API TransformerEncoderLayer : public Module {
 public:
  enum class Activation : uint8_t { relu, gelu };
  struct Options {
    int64_t dim_feedforward = 2048;
    double dropout = 0.1;
    Activation activation = Activation::relu;
    double layer_norm_eps = 1e-5;
    bool norm_first = false;
    bool bias = true;
    DType dtype = DType::f32;
  };
  using Masks = MultiheadAttention::Masks;
  TransformerEncoderLayer(int64_t d_model, int64_t nhead, Generator& rng)
      : TransformerEncoderLayer(d_model, nhead, rng, Options{}) {}
  TransformerEncoderLayer(int64_t d_model, int64_t nhead, Generator& rng, const Options& options);
  Tensor operator()(const Tensor& x, Location at = Location::current()) const {
    return (*this)(x, Masks{}, at);
  }
  Tensor operator()(const Tensor& x, const Masks& masks, Location at = Location::current()) const;

 private:
  Tensor attended(const Tensor& x, const Masks& masks, Location at) const;
  Tensor fed_forward(const Tensor& x, Location at) const;

  Options options_;
  MultiheadAttention self_attn_;
  Linear linear1_, linear2_;
  LayerNorm norm1_, norm2_;
};

}  // namespace cleave::nn
