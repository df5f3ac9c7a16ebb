// The models whose whole training steps bench/step.cpp measures, at the shapes of
// bench/step_torch.py and bench/step_jax.py:
//
//   demo            `make demo`'s: 4 layers, width 128, 4 heads, 12 x 64 tokens of 63; clipped at 1
//   mlp             784-256-128-10 with ReLU, batch 32
//   chargpt_small   GPT: 4 layers, width 128, 4 heads, 12 x 64 tokens of 96
//   chargpt         GPT: 6 layers, width 384, 6 heads, 8 x 256 tokens of 96
//   gpt2            GPT-2 124M: 12 layers, width 768, 12 heads, 4 x 64 tokens of 50304
//   bert_small      encoder: 4 layers, width 512, 8 heads, 8 x 128 tokens of 30522, dropout 0.1
//   resnet50        ResNet-50, 8 images of 128 x 128, 1000 classes, batch norms in training
//
// and for a GPU:
//
//   gpt2_16x1024    GPT-2 124M, 16 x 1024 tokens
//   bert_base       encoder: 12 layers, width 768, 12 heads, 32 x 512 tokens of 30522, dropout 0.1
//   resnet50_128    ResNet-50, 128 images of 224 x 224
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "cleave/cleave.h"

namespace cleave::bench {

struct StepModel {
  std::shared_ptr<nn::Module> module;
  TracedFunction loss;  // holds the module too
  std::vector<InputSpec> specs;
  std::vector<HostTensor> inputs;
  double clip_norm = 0;  // 0: none
  std::string note = {};
};

std::vector<std::string> step_model_names();
std::vector<std::string> device_model_names();
// A .pt2, .onnx or .clv whose one result is the loss.
bool is_model_file(const std::string& name);
// Initialised, with a batch of random data. `name` is one of the above or a file; `layers`, if it
// isn't 0, replaces the number of layers of a model with equal layers.
StepModel make_step_model(const std::string& name, int64_t layers = 0);

}  // namespace cleave::bench
