#include "bench/models/step_models.h"

#include "bench/models/resnet50.h"
#include "tool/gpt.h"

namespace cleave::bench {
namespace {

struct TokenModel {
  const char* name;
  tool::GptShape shape;
  int64_t batch, time;
  int64_t tokens;  // that the data has, at most the vocabulary
  double clip_norm = 0;
};

const TokenModel token_models[] = {
    {"demo", {63, 4, 128, 4, 64}, 12, 64, 63, 1.0},
    {"chargpt_small", {96, 4, 128, 4, 64}, 12, 64, 96},
    {"chargpt", {96, 6, 384, 6, 256}, 8, 256, 96},
    {"chargpt_64x256", {50304, 6, 384, 6, 256}, 64, 256, 65},
    {"gpt2", {50304, 12, 768, 12, 1024}, 4, 64, 50257},
    {"gpt2_16x1024", {50304, 12, 768, 12, 1024}, 16, 1024, 50257},
    {"bert_base", {30522, 12, 768, 12, 512, 0.1, tool::Attention::bidirectional}, 32, 512, 30522},
    {"bert_small", {30522, 4, 512, 8, 512, 0.1, tool::Attention::bidirectional}, 8, 128, 30522},
};

StepModel token_model(TokenModel m, int64_t layers) {
  Generator rng(0);
  if (layers > 0) m.shape.layers = layers;
  auto module = std::make_shared<tool::Gpt>(m.shape, rng);
  return {
      .module = module,
      .loss = [module](const Tensor& idx,
                       const Tensor& target) { return module->loss(idx, target); },
      .specs = {{"idx", DType::i64, {m.batch, m.time}}, {"target", DType::i64, {m.batch, m.time}}},
      .inputs = {rng.integers({m.batch, m.time}, 0, m.tokens),
                 rng.integers({m.batch, m.time}, 0, m.tokens)},
      .clip_norm = m.clip_norm};
}

StepModel mlp(int64_t batch, int64_t first, int64_t second) {
  Generator rng(0);
  auto module = std::make_shared<nn::Sequential>(nn::Linear(784, first, rng), nn::ReLU(),
                                                 nn::Linear(first, second, rng), nn::ReLU(),
                                                 nn::Linear(second, 10, rng));
  return {
      .module = module,
      .loss = [module](const Tensor& x, const Tensor& y) { return cross_entropy((*module)(x), y); },
      .specs = {{"x", DType::f32, {batch, 784}}, {"y", DType::i64, {batch}}},
      .inputs = {rng.normal({batch, 784}), rng.integers({batch}, 0, 10)}};
}

StepModel resnet50(int64_t images, int64_t size) {
  Generator rng(0);
  auto module = std::make_shared<ResNet50>(rng);
  return {
      .module = module,
      .loss = [module](const Tensor& x, const Tensor& y) { return module->loss(x, y); },
      .specs = {{"images", DType::f32, {images, 3, size, size}}, {"labels", DType::i64, {images}}},
      .inputs = {rng.normal({images, 3, size, size}), rng.integers({images}, 0, 1000)},
      .note = "channels-first: channels-last can't be asked for yet"};
}

// A file whose forward returns the loss: images or states are normal, labels and tokens below 100.
StepModel model_of_file(const std::string& path) {
  Generator rng(0);
  auto module = std::make_shared<GraphModule>(GraphModule::load(path));
  StepModel m = {.module = module,
                 .loss = [module](const Tensors& inputs) { return (*module)(inputs).at(0); },
                 .specs = module->inputs()};
  for (const InputSpec& spec : m.specs)
    m.inputs.push_back(is_floating(spec.dtype) ? rng.normal(spec.shape.largest())
                                               : rng.integers(spec.shape.largest(), 0, 100));
  return m;
}

}  // namespace

std::vector<std::string> step_model_names() {
  return {"demo", "mlp", "chargpt_small", "chargpt", "gpt2", "bert_small", "resnet50"};
}

StepModel make_step_model(const std::string& name, int64_t layers) {
  if (is_model_file(name)) return model_of_file(name);
  for (const TokenModel& m : token_models)
    if (name == m.name) return token_model(m, layers);
  if (name == "resnet50_128") return resnet50(128, 224);
  if (name == "mlp_1024") return mlp(256, 1024, 1024);
  return name == "mlp" ? mlp(32, 256, 128) : resnet50(8, 128);
}

bool is_model_file(const std::string& name) {
  return name.ends_with(".pt2") || name.ends_with(".onnx") || name.ends_with(".clv");
}

std::vector<std::string> device_model_names() {
  return {"gpt2_16x1024", "bert_base", "resnet50_128", "chargpt_64x256", "mlp_1024"};
}

}  // namespace cleave::bench
