// Logits and losses of models that transformers saved (test/peer/pretrained.py --write), beside
// what it computes for them in float64.
// tests: gpt2.cpp llama.cpp bert.cpp vit.cpp layers.cpp
#include <cmath>

#include "test/pretrained/small.h"

namespace cleave {
namespace {

struct Reference : testing::TestWithParam<const char*> {
  std::string folder = test::tiny_folder + GetParam();
  Generator rng{1};
  NamedTensors reference = load_tensors(folder + "/reference.safetensors");
  HostTensor input = reference.at("input"), labels = reference.at("labels");

  HostTensors results(const Pretrained& model) const {
    return compile(model,
                   [&](const Tensor& x, const Tensor& y) {
                     return Tensors{model.logits(x), model.loss(x, y)};
                   },
                   {{"x", input.dtype(), input.shape()}, {"y", labels.dtype(), labels.shape()}})
        .run({input, labels});
  }
  void expect_near(const HostTensor& got, const char* name, double tolerance) const {
    const HostTensor& want = reference.at(name);
    ASSERT_EQ(got.shape(), want.shape());
    double scale = 0;
    for (int64_t k = 0; k < want.numel(); ++k) scale = std::max(scale, std::abs(want.number(k)));
    for (int64_t k = 0; k < want.numel(); ++k)
      ASSERT_NEAR(got.number(k), want.number(k), tolerance * scale) << name << "[" << k << "]";
  }
};

TEST_P(Reference, logits_and_loss) {
  for (const auto& [dtype, tolerance] :
       {std::pair(DType::f32, 1e-5), std::pair(DType::f64, 2e-6), std::pair(DType::bf16, 0.1)}) {
    Pretrained model = Pretrained::make(folder, rng, {.dtype = dtype});
    const LoadReport report = model.load(folder);
    EXPECT_TRUE(report.missing.empty() && report.extra.empty());
    const HostTensors got = results(model);
    expect_near(got[0], "logits", tolerance);
    expect_near(got[1], "loss", tolerance);
    EXPECT_EQ(got[1].dtype(), dtype == DType::bf16 ? DType::f32 : dtype);
  }
}

TEST_P(Reference, inputs_are_the_batch) {
  const Pretrained model = Pretrained::make(folder, rng);
  const std::vector<InputSpec> specs = model.inputs(input.shape()[0], input.shape()[1]);
  ASSERT_EQ(specs.size(), 2u);
  EXPECT_EQ(specs[0].dtype, input.dtype());
  EXPECT_EQ(specs[0].shape.largest(), input.shape());
  EXPECT_EQ(specs[1].dtype, labels.dtype());
  EXPECT_EQ(specs[1].shape.largest(), labels.shape());
}

TEST_P(Reference, trains) {
  Pretrained model = Pretrained::make(folder, rng, {.dropout = 0});
  model.load(folder);
  TrainStep step = train_step(
      model, [&](const Tensor& x, const Tensor& y) { return model.loss(x, y); },
      optim::AdamW({.lr = 1e-2}), model.inputs(input.shape()[0], input.shape()[1]));
  const double first = step.run({input, labels}).loss;
  EXPECT_NEAR(first, reference.at("loss").item(), 1e-4 * first);
  double last = first;
  for (int i = 0; i < 30; ++i) last = step.run({input, labels}).loss;
  EXPECT_LT(last, first / 2);
}

INSTANTIATE_TEST_SUITE_P(Models, Reference,
                         testing::Values("gpt2", "llama_gqa", "mistral_window", "qwen2", "bert",
                                         "vit"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace cleave
