// A vision transformer (Dosovitskiy et al., 2021): patches by a strided convolution, a class token,
// learnt position embeddings, pre-norm encoder layers; predicts which shape is in a picture.
#include "pictures.h"
#include "training_run.h"

using namespace cleave;

constexpr int64_t size = 32, patch = 8, width = 64, heads = 4, depth = 4, batch = 32;
constexpr int64_t patches = (size / patch) * (size / patch);

struct Vit : nn::Module {
  explicit Vit(Generator& rng)
      : embed(add_module("embed", nn::Conv2d(3, width, patch, rng, {.stride = patch}))),
        class_token(add_parameter("class_token", HostTensor(DType::f32, {1, 1, width}))),
        position(add_parameter("position", rng.normal({1, patches + 1, width}, 0, 0.02))),
        layers(add_module("layers", nn::ModuleList<nn::TransformerEncoderLayer>())),
        norm(add_module("norm", nn::LayerNorm({width}))),
        head(add_module("head", nn::Linear(width, example::shape_kinds, rng))) {
    using Layer = nn::TransformerEncoderLayer;
    for (int64_t i = 0; i < depth; ++i)
      layers.push_back(Layer(width, heads, rng,
                             {.dim_feedforward = 2 * width,
                              .dropout = 0,
                              .activation = Layer::Activation::gelu,
                              .norm_first = true}));
  }

  // f32[n,3,size,size] -> f32[n,kinds]
  Tensor operator()(const Tensor& images) const {
    const Tensor tokens = embed(images).flatten(2).transpose(1, 2);  // [n,patches,width]
    const Tensor first = Tensor(class_token).expand({images.size(0), 1, width});
    Tensor x = cat({first, tokens}, 1) + position;
    for (const auto& layer : layers) x = layer(x);
    return head(norm(x.select(1, 0)));
  }

  nn::Conv2d embed;
  Variable class_token, position;
  nn::ModuleList<nn::TransformerEncoderLayer> layers;
  nn::LayerNorm norm;
  nn::Linear head;
};

int main(int argc, char** argv) {
  example::TrainingRun run(argc, argv, {.steps = 300, .items = batch, .unit = "images"});
  Generator rng(1);
  Vit model(rng);
  const std::vector<InputSpec> inputs = {{"images", DType::f32, {batch, 3, size, size}},
                                         {"labels", DType::i64, {batch}}};
  const double peak_lr = 2e-3;
  TrainStep step =
      train_step(model,
                 [&](const Tensor& images, const Tensor& labels) {
                   return cross_entropy(model(images), labels, {.label_smoothing = 0.05});
                 },
                 optim::AdamW({.lr = peak_lr, .weight_decay = 0.05}), inputs,
                 {.compile = {.autocast = run.autocast()}, .clip_norm = 1.0});

  run.begin(model, step);
  while (run.more()) {
    step.set_learning_rate(optim::cosine(run.done(), peak_lr, 20, run.steps()));
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
