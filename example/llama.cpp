// Llama's architecture (Touvron et al., 2023; names of state are Meta's): RMS norms, rotary
// positions, grouped-query attention and SwiGLU, without biases.
#include <cmath>

#include "text.h"
#include "training_run.h"

using namespace cleave;

constexpr int64_t layers = 4, width = 64, heads = 4, kv_heads = 2, hidden = 176;
constexpr int64_t head_width = width / heads, context = 64, batch = 16;
constexpr double norm_eps = 1e-5, theta = 10000;

// cos and sin of time * theta^(-2k / head_width), f32[context, head_width / 2].
std::pair<HostTensor, HostTensor> rotation() {
  HostTensor cosines(DType::f32, {context, head_width / 2}), sines = cosines;
  for (int64_t t = 0; t < context; ++t)
    for (int64_t k = 0; k < head_width / 2; ++k) {
      const double angle =
          static_cast<double>(t) * std::pow(theta, -2.0 * static_cast<double>(k) / head_width);
      cosines.at<float>({t, k}) = static_cast<float>(std::cos(angle));
      sines.at<float>({t, k}) = static_cast<float>(std::sin(angle));
    }
  return {cosines, sines};
}

// x [n,h,time,head_width]: each pair of adjacent elements is rotated by the angles of its position.
Tensor rotated(const Tensor& x, const Tensor& cosines, const Tensor& sines) {
  const Tensor pairs = x.view({x.size(0), x.size(1), x.size(2), head_width / 2, 2});
  const Tensor a = pairs.select(-1, 0), b = pairs.select(-1, 1);
  return stack({a * cosines - b * sines, a * sines + b * cosines}, -1).flatten(-2);
}

struct Attention : nn::Module {
  explicit Attention(Generator& rng)
      : wq(add_module("wq", nn::Linear(width, heads * head_width, rng, {.bias = false}))),
        wk(add_module("wk", nn::Linear(width, kv_heads * head_width, rng, {.bias = false}))),
        wv(add_module("wv", nn::Linear(width, kv_heads * head_width, rng, {.bias = false}))),
        wo(add_module("wo", nn::Linear(heads * head_width, width, rng, {.bias = false}))) {}

  Tensor operator()(const Tensor& x, const Tensor& cosines, const Tensor& sines) const {
    const int64_t n = x.size(0), time = x.size(1);
    const auto headed = [&](const Tensor& y, int64_t h) {
      return y.view({n, time, h, head_width}).transpose(1, 2);
    };
    // Each key and value head is shared by heads / kv_heads consecutive query heads.
    const auto shared = [&](const Tensor& y) {
      return y.unsqueeze(2)
          .expand({n, kv_heads, heads / kv_heads, time, head_width})
          .reshape({n, heads, time, head_width});
    };
    const Tensor q = rotated(headed(wq(x), heads), cosines, sines);
    const Tensor k = rotated(headed(wk(x), kv_heads), cosines, sines);
    const Tensor y = scaled_dot_product_attention(q, shared(k), shared(headed(wv(x), kv_heads)),
                                                  {.is_causal = true});
    return wo(y.transpose(1, 2).reshape({n, time, heads * head_width}));
  }

  nn::Linear wq, wk, wv, wo;
};

struct FeedForward : nn::Module {
  explicit FeedForward(Generator& rng)
      : w1(add_module("w1", nn::Linear(width, hidden, rng, {.bias = false}))),
        w2(add_module("w2", nn::Linear(hidden, width, rng, {.bias = false}))),
        w3(add_module("w3", nn::Linear(width, hidden, rng, {.bias = false}))) {}
  Tensor operator()(const Tensor& x) const { return w2(silu(w1(x)) * w3(x)); }

  nn::Linear w1, w2, w3;
};

struct Block : nn::Module {
  explicit Block(Generator& rng)
      : attention(add_module("attention", Attention(rng))),
        feed_forward(add_module("feed_forward", FeedForward(rng))),
        attention_norm(add_module("attention_norm", nn::RMSNorm({width}, {.eps = norm_eps}))),
        ffn_norm(add_module("ffn_norm", nn::RMSNorm({width}, {.eps = norm_eps}))) {}
  Tensor operator()(const Tensor& x, const Tensor& cosines, const Tensor& sines) const {
    const Tensor h = x + attention(attention_norm(x), cosines, sines);
    return h + feed_forward(ffn_norm(h));
  }

  Attention attention;
  FeedForward feed_forward;
  nn::RMSNorm attention_norm, ffn_norm;
};

struct Llama : nn::Module {
  Llama(int64_t vocabulary, Generator& rng)
      : tok_embeddings(add_module("tok_embeddings", nn::Embedding(vocabulary, width, rng))),
        blocks(add_module("layers", nn::ModuleList<Block>())),
        norm(add_module("norm", nn::RMSNorm({width}, {.eps = norm_eps}))),
        output(add_module("output", nn::Linear(width, vocabulary, rng, {.bias = false}))) {
    for (int64_t i = 0; i < layers; ++i) blocks.push_back(Block(rng));
  }

  // idx i64[n,context] -> f32[n,context,vocabulary]
  Tensor operator()(const Tensor& idx) const {
    const auto [cosines, sines] = rotation();
    const Tensor c = constant(cosines), s = constant(sines);
    Tensor x = tok_embeddings(idx);
    for (const Block& block : blocks) x = block(x, c, s);
    return output(norm(x));
  }

  nn::Embedding tok_embeddings;
  nn::ModuleList<Block> blocks;
  nn::RMSNorm norm;
  nn::Linear output;
};

int main(int argc, char** argv) {
  example::TrainingRun run(argc, argv, {.steps = 300, .items = batch * context, .unit = "tokens"});
  const example::Text text;
  Generator rng(1);
  Llama model(text.vocabulary(), rng);
  TrainStep step =
      train_step(model,
                 [&](const Tensor& idx, const Tensor& target) {
                   return cross_entropy(model(idx).flatten(0, 1), target.flatten());
                 },
                 optim::AdamW({.lr = 3e-3, .beta2 = 0.95, .weight_decay = 0.1}),
                 {{"idx", DType::i64, {batch, context}}, {"target", DType::i64, {batch, context}}},
                 {.compile = {.autocast = run.autocast()}, .clip_norm = 1.0});

  run.begin(model, step);
  while (run.more()) {
    const auto [idx, target] = text.windows(rng, batch, context);
    run.step({idx, target});
  }
  const TracedFunction logits = [&](const Tensor& idx) { return model(idx); };
  std::printf("%s\n", text.continued(model, logits, context, "Four score", 120).c_str());
  return run.end(0.3);
}
