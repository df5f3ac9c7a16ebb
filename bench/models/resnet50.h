// ResNet-50 (He et al., 2016; stride in the 3x3 convolution) for 1000 classes.
#pragma once
#include <optional>
#include <vector>

#include "cleave/cleave.h"

namespace cleave::bench {

struct Bottleneck : nn::Module {
  Bottleneck(int64_t in, int64_t width, int64_t stride, Generator& rng)
      : conv1(add_module("conv1", nn::Conv2d(in, width, 1, rng, {.bias = false}))),
        bn1(add_module("bn1", nn::BatchNorm2d(width))),
        conv2(add_module("conv2", nn::Conv2d(width, width, 3, rng,
                                             {.stride = stride, .padding = 1, .bias = false}))),
        bn2(add_module("bn2", nn::BatchNorm2d(width))),
        conv3(add_module("conv3", nn::Conv2d(width, 4 * width, 1, rng, {.bias = false}))),
        bn3(add_module("bn3", nn::BatchNorm2d(4 * width))) {
    if (stride == 1 && in == 4 * width) return;
    downsample = add_module(
        "downsample",
        nn::Sequential(nn::Conv2d(in, 4 * width, 1, rng, {.stride = stride, .bias = false}),
                       nn::BatchNorm2d(4 * width)));
  }
  Tensor operator()(const Tensor& x) const {
    const Tensor y = bn3(conv3(relu(bn2(conv2(relu(bn1(conv1(x))))))));
    return relu(y + (downsample ? (*downsample)(x) : x));
  }

  nn::Conv2d conv1;
  nn::BatchNorm2d bn1;
  nn::Conv2d conv2;
  nn::BatchNorm2d bn2;
  nn::Conv2d conv3;
  nn::BatchNorm2d bn3;
  std::optional<nn::Sequential> downsample;
};

struct ResNet50 : nn::Module {
  explicit ResNet50(Generator& rng)
      : conv1(add_module("conv1",
                         nn::Conv2d(3, 64, 7, rng, {.stride = 2, .padding = 3, .bias = false}))),
        bn1(add_module("bn1", nn::BatchNorm2d(64))) {
    constexpr int64_t blocks[] = {3, 4, 6, 3};
    int64_t channels = 64;
    for (int64_t stage = 0; stage < 4; ++stage)
      for (int64_t k = 0; k < blocks[stage]; ++k) {
        const int64_t width = int64_t{64} << stage;
        layers.push_back(add_module("layer" + std::to_string(stage + 1) + "_" + std::to_string(k),
                                    Bottleneck(channels, width, stage > 0 && k == 0 ? 2 : 1, rng)));
        channels = 4 * width;
      }
    fc = add_module("fc", nn::Linear(2048, 1000, rng));
  }

  // f32[n,3,h,w] -> f32[n,1000]
  Tensor logits(const Tensor& images) const {
    Tensor x = max_pool2d(relu(bn1(conv1(images))), 3, {.stride = 2, .padding = 1});
    for (const Bottleneck& block : layers) x = block(x);
    return (*fc)(mean(x, {2, 3}));
  }
  // f32[n,3,h,w], i64[n] -> the loss
  Tensor loss(const Tensor& images, const Tensor& labels) const {
    return cross_entropy(logits(images), labels);
  }

  nn::Conv2d conv1;
  nn::BatchNorm2d bn1;
  std::vector<Bottleneck> layers;
  std::optional<nn::Linear> fc;
};

}  // namespace cleave::bench
