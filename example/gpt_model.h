// GPT-2's architecture (Radford et al., 2019) on characters: token and position embeddings, blocks
// of causal attention and MLP with layer norms in front, the head shares the weight of the
// embedding.
#pragma once
#include <cleave/cleave.h>

#include <cmath>

namespace example {

using namespace cleave;

constexpr int64_t layers = 4, width = 64, heads = 4, context = 64, batch = 16;

struct Block : nn::Module {
  explicit Block(Generator& rng)
      : ln1(add_module("ln1", nn::LayerNorm({width}))),
        qkv(add_module("qkv", nn::Linear(width, 3 * width, rng))),
        proj(add_module("proj", nn::Linear(width, width, rng))),
        ln2(add_module("ln2", nn::LayerNorm({width}))),
        fc(add_module("fc", nn::Linear(width, 4 * width, rng))),
        out(add_module("out", nn::Linear(4 * width, width, rng))) {}

  Tensor operator()(const Tensor& x) const {
    const int64_t n = x.size(0), time = x.size(1);
    // [n,time,3 width] -> [3,n,heads,time,width/heads]
    const Tensor parts =
        qkv(ln1(x)).view({n, time, 3, heads, width / heads}).permute({2, 0, 3, 1, 4});
    const Tensor y = scaled_dot_product_attention(parts.select(0, 0), parts.select(0, 1),
                                                  parts.select(0, 2), {.is_causal = true});
    const Tensor seen = x + proj(y.transpose(1, 2).reshape({n, time, width}));
    return seen + out(gelu(fc(ln2(seen)), "tanh"));
  }

  nn::LayerNorm ln1;
  nn::Linear qkv, proj;
  nn::LayerNorm ln2;
  nn::Linear fc, out;
};

struct Gpt : nn::Module {
  Gpt(int64_t vocabulary, Generator& rng)
      : wte(add_module("wte", nn::Embedding(vocabulary, width, rng))),
        wpe(add_module("wpe", nn::Embedding(context, width, rng))),
        blocks(add_module("blocks", nn::ModuleList<Block>())),
        lnf(add_module("lnf", nn::LayerNorm({width}))) {
    for (int64_t i = 0; i < layers; ++i) blocks.push_back(Block(rng));
    // N(0, 0.02), less for layers that are added to the residual stream; biases 0.
    for (auto& [name, p] : named_parameters()) {
      const bool added = name.ends_with("proj.weight") || name.ends_with("out.weight");
      if (p.shape().size() == 2)
        p.set(rng.normal(p.shape(), 0, added ? 0.02 / std::sqrt(2.0 * layers) : 0.02));
      else if (name.ends_with("bias"))
        p.set(HostTensor(DType::f32, p.shape()));
    }
  }

  // idx i64[n,time] -> f32[n,time,vocabulary]
  Tensor operator()(const Tensor& idx) const {
    Tensor x = wte(idx) + wpe(arange(0, idx.size(1)));
    for (const Block& block : blocks) x = block(x);
    return linear(lnf(x), wte.parameter("weight"));
  }

  nn::Embedding wte, wpe;
  nn::ModuleList<Block> blocks;
  nn::LayerNorm lnf;
};

}  // namespace example
