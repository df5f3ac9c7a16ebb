// ResNet-18 (He et al., 2016) in the shape for CIFAR: a first convolution of 3x3 with stride 1 and
// no pooling after it; names of state are torchvision's. --width is that of the first stage.
#include "pictures.h"
#include "training_run.h"

using namespace cleave;

constexpr int64_t size = 32, batch = 8;

nn::Conv2d conv3x3(int64_t in, int64_t out, int64_t stride, Generator& rng) {
  return nn::Conv2d(in, out, 3, rng, {.stride = stride, .padding = 1, .bias = false});
}

struct BasicBlock : nn::Module {
  BasicBlock(int64_t in, int64_t out, int64_t stride, Generator& rng)
      : conv1(add_module("conv1", conv3x3(in, out, stride, rng))),
        bn1(add_module("bn1", nn::BatchNorm2d(out))),
        conv2(add_module("conv2", conv3x3(out, out, 1, rng))),
        bn2(add_module("bn2", nn::BatchNorm2d(out))) {
    if (stride == 1 && in == out) return;
    downsample = add_module(
        "downsample", nn::Sequential(nn::Conv2d(in, out, 1, rng, {.stride = stride, .bias = false}),
                                     nn::BatchNorm2d(out)));
  }
  Tensor operator()(const Tensor& x) const {
    const Tensor y = bn2(conv2(relu(bn1(conv1(x)))));
    return relu(y + (downsample ? (*downsample)(x) : x));
  }

  nn::Conv2d conv1;
  nn::BatchNorm2d bn1;
  nn::Conv2d conv2;
  nn::BatchNorm2d bn2;
  std::optional<nn::Sequential> downsample;
};

struct ResNet18 : nn::Module {
  ResNet18(int64_t width, int64_t classes, Generator& rng)
      : conv1(add_module("conv1", conv3x3(3, width, 1, rng))),
        bn1(add_module("bn1", nn::BatchNorm2d(width))) {
    int64_t channels = width;
    for (int64_t stage = 0; stage < 4; ++stage) {
      const int64_t out = width << stage;
      stages.push_back(add_module("layer" + std::to_string(stage + 1),
                                  nn::Sequential(BasicBlock(channels, out, stage ? 2 : 1, rng),
                                                 BasicBlock(out, out, 1, rng))));
      channels = out;
    }
    fc = add_module("fc", nn::Linear(channels, classes, rng));
  }

  // f32[n,3,size,size] -> f32[n,classes]
  Tensor operator()(const Tensor& images) const {
    Tensor x = relu(bn1(conv1(images)));
    for (const nn::Sequential& stage : stages) x = stage(x);
    return (*fc)(adaptive_avg_pool2d(x, 1).flatten(1));
  }

  nn::Conv2d conv1;
  nn::BatchNorm2d bn1;
  std::vector<nn::Sequential> stages;
  std::optional<nn::Linear> fc;
};

int main(int argc, char** argv) {
  example::TrainingRun run(argc, argv, {.steps = 80, .items = batch, .unit = "images"});
  Generator rng(1);
  ResNet18 model(run.number("--width", 64), example::shape_kinds, rng);
  const std::vector<InputSpec> inputs = {{"images", DType::f32, {batch, 3, size, size}},
                                         {"labels", DType::i64, {batch}}};
  const double peak_lr = 0.02;
  TrainStep step = train_step(
      model,
      [&](const Tensor& images, const Tensor& labels) {
        return cross_entropy(model(images), labels);
      },
      optim::SGD({.lr = peak_lr, .momentum = 0.9, .weight_decay = 5e-4, .nesterov = true}), inputs,
      {.compile = {.autocast = run.autocast()}});

  run.begin(model, step);
  while (run.more()) {
    step.set_learning_rate(optim::linear(run.done(), peak_lr, 5, run.steps()));
    const example::Pictures p = example::draw_shapes(rng, batch, size);
    run.step({p.images, p.labels});
  }
  // Normalized by the running statistics from here on.
  CompiledFunction predict =
      compile(model, [&](const Tensor& images) { return model(images); }, {inputs[0]});
  const example::Pictures p = example::draw_shapes(rng, batch, size);
  std::printf("%.0f%% of new pictures right\n",
              100 * example::accuracy(predict.run({p.images})[0], p.labels));
  return run.end(0.4);
}
