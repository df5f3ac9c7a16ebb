// A soft mixture of experts (Puigcerver et al., 2023) in place of a vision transformer's MLPs. Each
// expert computes a few slots. A slot is a weighted mean of all tokens (dispatch), a token's result
// a weighted mean of all slots' results (combine), with weights by softmaxes of the same scores.
#include <cmath>

#include "pictures.h"
#include "training_run.h"

using namespace cleave;

constexpr int64_t size = 32, patch = 8, width = 64, heads = 4, depth = 2, batch = 32;
constexpr int64_t experts = 4, slots = 4, hidden = 64;  // slots of each expert
constexpr int64_t tokens = (size / patch) * (size / patch);

struct SoftMoe : nn::Module {
  explicit SoftMoe(Generator& rng)
      : phi(add_parameter("phi", rng.normal({width, experts * slots}, 0, 1 / std::sqrt(width)))),
        scale(add_parameter("scale", HostTensor::from<float>({1}))),
        w1(add_parameter("w1", rng.normal({experts, width, hidden}, 0, 1 / std::sqrt(width)))),
        b1(add_parameter("b1", HostTensor(DType::f32, {experts, 1, hidden}))),
        w2(add_parameter("w2", rng.normal({experts, hidden, width}, 0, 1 / std::sqrt(hidden)))),
        b2(add_parameter("b2", HostTensor(DType::f32, {experts, 1, width}))) {}

  // x f32[n,tokens,width]; scores are of the directions of tokens and of slots.
  Tensor operator()(const Tensor& x) const {
    const int64_t n = x.size(0);
    const auto unit = [](const Tensor& v, int64_t dim) {
      return v * rsqrt(square(v).sum(dim, true) + 1e-6);
    };
    const Tensor scores = matmul(unit(x, -1), unit(phi, 0) * scale);  // [n,tokens,experts slots]
    const Tensor dispatch = softmax(scores, 1), combine = softmax(scores, 2);
    const Tensor mixed = matmul(dispatch.transpose(1, 2), x);  // [n,experts slots,width]
    const Tensor of_expert =
        mixed.view({n, experts, slots, width}).transpose(0, 1).reshape({experts, n * slots, width});
    const Tensor y = bmm(gelu(bmm(of_expert, w1) + b1), w2) + b2;
    const Tensor results =
        y.view({experts, n, slots, width}).transpose(0, 1).reshape({n, experts * slots, width});
    return matmul(combine, results);
  }

  Variable phi, scale, w1, b1, w2, b2;
};

struct Block : nn::Module {
  explicit Block(Generator& rng)
      : norm1(add_module("norm1", nn::LayerNorm({width}))),
        attention(add_module("attention", nn::MultiheadAttention(width, heads, rng))),
        norm2(add_module("norm2", nn::LayerNorm({width}))), moe(add_module("moe", SoftMoe(rng))) {}
  Tensor operator()(const Tensor& x) const {
    const Tensor y = norm1(x);
    const Tensor seen = x + attention(y, y, y);
    return seen + moe(norm2(seen));
  }

  nn::LayerNorm norm1;
  nn::MultiheadAttention attention;
  nn::LayerNorm norm2;
  SoftMoe moe;
};

struct Classifier : nn::Module {
  explicit Classifier(Generator& rng)
      : embed(add_module("embed", nn::Conv2d(3, width, patch, rng, {.stride = patch}))),
        position(add_parameter("position", rng.normal({1, tokens, width}, 0, 0.02))),
        blocks(add_module("blocks", nn::ModuleList<Block>())),
        norm(add_module("norm", nn::LayerNorm({width}))),
        head(add_module("head", nn::Linear(width, example::shape_kinds, rng))) {
    for (int64_t i = 0; i < depth; ++i) blocks.push_back(Block(rng));
  }
  // f32[n,3,size,size] -> f32[n,kinds]
  Tensor operator()(const Tensor& images) const {
    Tensor x = embed(images).flatten(2).transpose(1, 2) + position;
    for (const Block& block : blocks) x = block(x);
    return head(norm(x).mean(1));
  }

  nn::Conv2d embed;
  Variable position;
  nn::ModuleList<Block> blocks;
  nn::LayerNorm norm;
  nn::Linear head;
};

int main(int argc, char** argv) {
  example::TrainingRun run(argc, argv, {.steps = 400, .items = batch, .unit = "images"});
  Generator rng(1);
  Classifier model(rng);
  const std::vector<InputSpec> inputs = {{"images", DType::f32, {batch, 3, size, size}},
                                         {"labels", DType::i64, {batch}}};
  const double peak_lr = 2e-3;
  TrainStep step = train_step(model,
                              [&](const Tensor& images, const Tensor& labels) {
                                return cross_entropy(model(images), labels);
                              },
                              optim::AdamW({.lr = peak_lr, .amsgrad = true}), inputs,
                              {.compile = {.autocast = run.autocast()}, .clip_norm = 1.0});

  run.begin(model, step);
  while (run.more()) {
    step.set_learning_rate(optim::linear(run.done(), peak_lr, 20, run.steps()));
    const example::Pictures p = example::draw_shapes(rng, batch, size);
    run.step({p.images, p.labels});
  }
  CompiledFunction predict =
      compile(model, [&](const Tensor& images) { return model(images); }, {inputs[0]});
  const example::Pictures p = example::draw_shapes(rng, batch, size);
  std::printf("%.0f%% of new pictures right\n",
              100 * example::accuracy(predict.run({p.images})[0], p.labels));
  return run.end(0.4);
}
