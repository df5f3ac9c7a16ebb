// The language model of `cleave train`: GPT-2, whose head shares the weight of the token embedding.
//
//   idx i64[B,T] -> wte + wpe -> blocks -> lnf -> logits f32[B,T,vocabulary]
//   block: x += proj(attention(qkv(ln1 x)));  x += out(gelu(fc(ln2 x)))
//
// Weights N(0, 0.02), those of proj and out N(0, 0.02/sqrt(2 layers)), biases 0 (GPT-2, section
// 2.3).
#pragma once
#include "cleave/cleave.h"

namespace cleave::tool {

// What a position attends to: itself and earlier positions, or all positions.
enum class Attention : uint8_t { causal, bidirectional };

struct GptShape {
  int64_t vocabulary = 0;
  int64_t layers = 4, width = 128, heads = 4, context = 64;
  double dropout = 0;
  Attention attention = Attention::causal;
};

class Gpt : public nn::Module {
 public:
  Gpt(const GptShape& shape, Generator& rng);
  Tensor logits(const Tensor& idx) const;                      // f32[B,T,vocabulary]
  Tensor loss(const Tensor& idx, const Tensor& target) const;  // mean cross-entropy
  const GptShape& shape() const { return shape_; }

 private:
  struct Block : nn::Module {
    Block(const GptShape& shape, Generator& rng);
    Tensor operator()(const Tensor& x) const;

    int64_t heads;
    bool is_causal;
    nn::LayerNorm ln1;
    nn::Linear qkv, proj;
    nn::LayerNorm ln2;
    nn::Linear fc, out;
    nn::Dropout drop;
  };

  GptShape shape_;
  nn::Embedding wte_, wpe_;
  nn::ModuleList<Block> blocks_;
  nn::LayerNorm lnf_;
};

}  // namespace cleave::tool
