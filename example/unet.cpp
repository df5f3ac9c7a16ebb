// U-Net (Ronneberger et al., 2015) with group norms: two downsamplings by max pooling, two
// upsamplings by transposed convolutions, and skip connections at each size. Predicts for each
// pixel whether it is background, or the kind of its shape.
#include "pictures.h"
#include "training_run.h"

using namespace cleave;

constexpr int64_t size = 32, width = 16, batch = 8, kinds = 3, classes = kinds + 1;

// Twice: convolution, norm, SiLU; the size stays.
struct DoubleConv : nn::Sequential {
  DoubleConv(int64_t in, int64_t out, Generator& rng)
      : nn::Sequential(nn::Conv2d(in, out, 3, rng, {.padding = 1, .bias = false}),
                       nn::GroupNorm(8, out), nn::SiLU(),
                       nn::Conv2d(out, out, 3, rng, {.padding = 1, .bias = false}),
                       nn::GroupNorm(8, out), nn::SiLU()) {}
};

struct UNet : nn::Module {
  explicit UNet(Generator& rng)
      : down1(add_module("down1", DoubleConv(3, width, rng))),
        down2(add_module("down2", DoubleConv(width, 2 * width, rng))),
        middle(add_module("middle", DoubleConv(2 * width, 4 * width, rng))),
        up2(add_module("up2", nn::ConvTranspose2d(4 * width, 2 * width, 2, rng, {.stride = 2}))),
        merge2(add_module("merge2", DoubleConv(4 * width, 2 * width, rng))),
        up1(add_module("up1", nn::ConvTranspose2d(2 * width, width, 2, rng, {.stride = 2}))),
        merge1(add_module("merge1", DoubleConv(2 * width, width, rng))),
        head(add_module("head", nn::Conv2d(width, classes, 1, rng))) {}

  // f32[n,3,size,size] -> f32[n,classes,size,size]
  Tensor operator()(const Tensor& images) const {
    const Tensor full = down1(images);
    const Tensor half = down2(max_pool2d(full, 2));
    const Tensor quarter = middle(max_pool2d(half, 2));
    const Tensor wide = merge2(cat({half, up2(quarter)}, 1));
    return head(merge1(cat({full, up1(wide)}, 1)));
  }

  DoubleConv down1, down2, middle;
  nn::ConvTranspose2d up2;
  DoubleConv merge2;
  nn::ConvTranspose2d up1;
  DoubleConv merge1;
  nn::Conv2d head;
};

// A line of text for each second row of pixels: '.' is background, letters are kinds.
void print_beside(const HostTensor& truth, const HostTensor& logits) {
  for (int64_t y = 0; y < size; y += 2) {
    std::string left, right;
    for (int64_t x = 0; x < size; ++x) {
      int64_t best = 0;
      for (int64_t k = 1; k < classes; ++k)
        if (logits.at<float>({0, k, y, x}) > logits.at<float>({0, best, y, x})) best = k;
      left += ".oST"[truth.at<int64_t>({0, y, x})];
      right += ".oST"[best];
    }
    std::printf("%s  %s\n", left.c_str(), right.c_str());
  }
}

int main(int argc, char** argv) {
  example::TrainingRun run(argc, argv, {.steps = 150, .items = batch, .unit = "images"});
  Generator rng(1);
  UNet model(rng);
  const std::vector<InputSpec> inputs = {{"images", DType::f32, {batch, 3, size, size}},
                                         {"masks", DType::i64, {batch, size, size}}};
  TrainStep step = train_step(model,
                              [&](const Tensor& images, const Tensor& masks) {
                                return cross_entropy(model(images), masks);
                              },
                              optim::RMSprop({.lr = 1e-3, .alpha = 0.9}), inputs,
                              {.compile = {.autocast = run.autocast()}});

  run.begin(model, step);
  while (run.more()) {
    const example::Pictures p = example::draw_shapes(rng, batch, size, 3, kinds);
    run.step({p.images, p.masks});
  }
  CompiledFunction predict =
      compile(model, [&](const Tensor& images) { return model(images); }, {inputs[0]});
  const example::Pictures p = example::draw_shapes(rng, batch, size, 3, kinds);
  std::printf("a new picture's shapes, and what the model sees:\n");
  print_beside(p.masks, predict.run({p.images})[0]);
  return run.end(0.4);
}
