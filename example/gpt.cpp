// GPT-2's architecture (Radford et al., 2019) on characters: token and position embeddings, blocks
// of causal attention and MLP with layer norms in front, the head shares the weight of the
// embedding.
#include <cmath>

#include "text.h"
#include "training_run.h"

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

int main(int argc, char** argv) {
  example::TrainingRun run(argc, argv, {.steps = 400, .items = batch * context, .unit = "tokens"});
  const example::Text text;
  Generator rng(1);
  Gpt model(text.vocabulary(), rng);
  const double peak_lr = 6e-3;
  TrainStep step = train_step(
      model,
      [&](const Tensor& idx, const Tensor& target) {
        return cross_entropy(model(idx).flatten(0, 1), target.flatten());
      },
      // Weight decay only for matrices.
      optim::AdamW({.lr = peak_lr,
                    .beta2 = 0.99,
                    .weight_decay = 0.1,
                    .decays = [](const std::string&, const Tensor& p) { return p.dim() >= 2; }}),
      {{"idx", DType::i64, {batch, context}}, {"target", DType::i64, {batch, context}}},
      {.compile = {.autocast = run.autocast()}, .clip_norm = 1.0});

  run.begin(model, step);
  while (run.more()) {
    step.set_learning_rate(optim::cosine(run.done(), peak_lr, 20, run.steps(), peak_lr / 10));
    const auto [idx, target] = text.windows(rng, batch, context);
    run.step({idx, target});
  }
  const TracedFunction logits = [&](const Tensor& idx) { return model(idx); };
  std::printf("%s\n", text.continued(model, logits, context, "Four score", 120).c_str());
  return run.end(0.3);
}
