// The code of doc/fine_tune.md, between the lines `// [NAME]` and `// [end]` (script/check_readme
// compares the page with it). `gpt2` is test/pretrained/tiny/gpt2, which transformers saved.
// tests: pretrained/pretrained.cpp
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "cleave/cleave.h"

namespace cleave {
namespace {

namespace fs = std::filesystem;

struct FineTunePage : testing::Test {
  fs::path before = fs::current_path();
  std::string folder = testing::TempDir() + "cleave_fine_tune_" + std::to_string(::getpid());

  FineTunePage() {
    fs::create_directories(folder);
    fs::copy(CLEAVE_SOURCE_DIR "/test/pretrained/tiny/gpt2", folder + "/gpt2",
             fs::copy_options::recursive);
    fs::current_path(folder);
  }
  ~FineTunePage() override {
    fs::current_path(before);
    fs::remove_all(folder);
  }
};

TEST_F(FineTunePage, train) {
  const NamedTensors reference = load_tensors("gpt2/reference.safetensors");
  const HostTensor ids = reference.at("input");
  std::vector<double> losses;
  // [train]
  Generator rng(1);
  Pretrained model = Pretrained::make("gpt2", rng);  // gpt2/config.json
  model.load("gpt2");                                // gpt2/model.safetensors
  TrainStep step = train_step(
      model, [&](const Tensor& x, const Tensor& labels) { return model.loss(x, labels); },
      optim::AdamW({.lr = 1e-2}), model.inputs(2, 12));
  for (int i = 0; i < 20; ++i) losses.push_back(step.run({ids, ids}).loss);
  model.save("tuned");  // AutoModelForCausalLM.from_pretrained("tuned")
  // [end]
  EXPECT_LT(losses.back(), losses.front() / 2);
  Pretrained again = Pretrained::make("tuned", rng);
  EXPECT_TRUE(again.load("tuned").missing.empty());
}

TEST_F(FineTunePage, names) {
  Generator rng(1);
  std::vector<std::string> kept;
  // [names]
  Pretrained model = Pretrained::make("gpt2", rng, {.dropout = 0.0});
  LoadReport report = model.load("gpt2", {.allow_missing = true, .allow_extra = true});
  for (const std::string& name : report.missing) kept.push_back(name);  // as it was drawn
  for (const std::string& name : report.extra) kept.push_back(name);    // not in the model
  // [end]
  EXPECT_TRUE(kept.empty());
}

TEST_F(FineTunePage, frozen) {
  Generator rng(1);
  Pretrained model = Pretrained::make("gpt2", rng);
  // [frozen]
  model.set_requires_grad(false);  // and of what is trained:
  for (auto& [name, p] : model.named_parameters())
    if (name.starts_with("transformer.h.1.")) p.set_requires_grad(true);
  // [end]
  const HostTensor before = model.parameter("transformer.h.0.ln_1.weight").value();
  const HostTensor trained = model.parameter("transformer.h.1.ln_1.weight").value();
  TrainStep step = train_step(
      model, [&](const Tensor& x, const Tensor& labels) { return model.loss(x, labels); },
      optim::AdamW({.lr = 1e-2}), model.inputs(2, 12));
  const HostTensor ids = load_tensors("gpt2/reference.safetensors").at("input");
  step.run({ids, ids});
  EXPECT_TRUE(model.parameter("transformer.h.0.ln_1.weight").value().same_bits(before));
  EXPECT_FALSE(model.parameter("transformer.h.1.ln_1.weight").value().same_bits(trained));
}

}  // namespace
}  // namespace cleave
