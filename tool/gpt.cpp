#include "tool/gpt.h"

#include <cmath>

namespace cleave::tool {

Gpt::Block::Block(const GptShape& s, Generator& rng)
    : heads(s.heads), is_causal(s.attention == Attention::causal),
      ln1(add_module("ln1", nn::LayerNorm({s.width}))),
      qkv(add_module("qkv", nn::Linear(s.width, 3 * s.width, rng))),
      proj(add_module("proj", nn::Linear(s.width, s.width, rng))),
      ln2(add_module("ln2", nn::LayerNorm({s.width}))),
      fc(add_module("fc", nn::Linear(s.width, 4 * s.width, rng))),
      out(add_module("out", nn::Linear(4 * s.width, s.width, rng))),
      drop(add_module("drop", nn::Dropout(s.dropout))) {}

Tensor Gpt::Block::operator()(const Tensor& x) const {
  const int64_t batch = x.size(0), time = x.size(1), width = x.size(2);
  Tensor packed = qkv(ln1(x)).view({batch, time, 3, heads, width / heads}).permute({2, 0, 3, 1, 4});
  Tensor y = scaled_dot_product_attention(packed.select(0, 0), packed.select(0, 1),
                                          packed.select(0, 2), {.is_causal = is_causal});
  y = y.transpose(1, 2).reshape({batch, time, width});
  Tensor middle = x + drop(proj(y));
  return middle + drop(out(gelu(fc(ln2(middle)), "tanh")));
}

Gpt::Gpt(const GptShape& s, Generator& rng)
    : shape_(s), wte_(add_module("wte", nn::Embedding(s.vocabulary, s.width, rng))),
      wpe_(add_module("wpe", nn::Embedding(s.context, s.width, rng))),
      blocks_(add_module("blocks", nn::ModuleList<Block>())),
      lnf_(add_module("lnf", nn::LayerNorm({s.width}))) {
  for (int64_t i = 0; i < s.layers; ++i) blocks_.push_back(Block(s, rng));
  const double residual = 0.02 / std::sqrt(2.0 * static_cast<double>(s.layers));
  for (auto& [name, parameter] : named_parameters()) {
    const bool to_residual = name.ends_with("proj.weight") || name.ends_with("out.weight");
    if (parameter.shape().size() == 2)
      parameter.set(rng.normal(parameter.shape(), 0, to_residual ? residual : 0.02));
    else if (name.ends_with("bias"))
      parameter.set(HostTensor(parameter.dtype(), parameter.shape()));
  }
}

Tensor Gpt::logits(const Tensor& idx) const {
  const int64_t time = idx.size(1);
  Tensor x = wte_(idx) + wpe_(arange(0, time, 1, DType::i64));
  for (const Block& b : blocks_) x = b(x);
  return linear(lnf_(x), wte_.parameter("weight"));
}

Tensor Gpt::loss(const Tensor& idx, const Tensor& target) const {
  return cross_entropy(logits(idx).view({-1, shape_.vocabulary}), target.view({-1}));
}

}  // namespace cleave::tool
