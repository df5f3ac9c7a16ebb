// Transfer learning: weights that PyTorch saved, as DistributedDataParallel names them and in bf16,
// go into a model with another head; the backbone is frozen, and the head is trained.
//
// In PyTorch:
//   safetensors.torch.save_file(ddp_model.bfloat16().state_dict(), "backbone.safetensors")
// Here this program trains and writes such a file first, so that it needs nothing else.
#include "pictures.h"

#include <cstdio>

using namespace cleave;

constexpr int64_t batch = 64, size = 16, features = 64;

nn::Sequential make_backbone(Generator& rng) {
  return nn::Sequential(nn::Conv2d(3, 16, 3, rng, {.stride = 2, .padding = 1}), nn::ReLU(),
                        nn::Conv2d(16, 32, 3, rng, {.stride = 2, .padding = 1}), nn::ReLU(),
                        nn::Flatten(), nn::Linear(32 * size, features, rng), nn::ReLU());
}

struct Classifier : nn::Module {
  nn::Sequential backbone;
  nn::Linear head;
  Classifier(int64_t classes, Generator& rng)
      : backbone(add_module("backbone", make_backbone(rng))),
        head(add_module("head", nn::Linear(features, classes, rng))) {}
  Tensor operator()(const Tensor& images) const { return head(backbone(images)); }
};

// Trains what isn't frozen; returns the accuracy on new pictures.
double train(const Classifier& model, int steps, int64_t kinds, bool coarse, Generator& rng) {
  const auto draw = [&] {
    example::Pictures p = example::draw_shapes(rng, batch, size, 1, kinds);
    if (coarse)  // another task: has the shape a hole or corners?
      for (int64_t i = 0; i < batch; ++i) {
        int64_t& label = p.labels.at<int64_t>({i});
        label = label == 0 ? 0 : label == 3 ? 1 : 2;
      }
    return p;
  };
  const std::vector<InputSpec> specs{{"images", DType::f32, {batch, 3, size, size}},
                                     {"labels", DType::i64, {batch}}};
  TrainStep step = train_step(
      model,
      [&](const Tensor& x, const Tensor& label) {
        const Tensor scores = model(x);
        return Tensors{cross_entropy(scores, label), scores};
      },
      optim::AdamW({.lr = 2e-3}), specs);
  RunningMean right;
  for (int i = 0; i < steps; ++i) {
    const example::Pictures p = draw();
    step.run({p.images, p.labels});
    if (i >= steps - 10) right.add(accuracy(step.output(0), p.labels));  // before the update
  }
  return right.value();
}

int main() {
  Generator rng(1);
  {
    const Classifier pretrained(example::shape_kinds, rng);
    std::printf("pretraining: accuracy %.2f\n",
                train(pretrained, 500, example::shape_kinds, false, rng));
    NamedTensors file;
    for (const auto& [name, v] : pretrained.named_parameters())
      file["module." + name] = v.value().to(DType::bf16);
    save_tensors("backbone.safetensors", file, {{"format", "pt"}});
  }
  const auto adapted = [&](bool loads) {
    Generator seed(7);
    Classifier model(3, seed);
    if (loads) {
      const LoadReport r = load_weights(
          "backbone.safetensors", model,
          {.allow_missing = true,
           .allow_extra = true,
           .cast = true,
           .prefix = "module.",
           .rename = [](const std::string& n) { return n.starts_with("head.") ? "" : n; }});
      std::printf("loaded %zu tensors, %zu from bf16; not in the file: %zu\n", r.loaded.size(),
                  r.converted.size(), r.missing.size());
    }
    model.backbone.set_requires_grad(false);
    return train(model, 60, example::shape_kinds, true, seed);
  };
  const double from_scratch = adapted(false), transferred = adapted(true);
  std::printf("accuracy of a new head: %.2f on random features, %.2f on the loaded ones\n",
              from_scratch, transferred);
  return transferred > from_scratch + 0.05 && transferred > 0.7 ? 0 : 1;
}
