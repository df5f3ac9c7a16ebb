// Builds a training step as a library that runs without cleave, and trains with it here:
//
//   ahead_of_time mlp FOLDER      a regression      FOLDER/step.so, step.h, step.json
//   ahead_of_time gpt FOLDER      gpt_model.h       FOLDER/batches.bin: inputs of 20 runs, each
//                                                     with its rows in front
//                                                   FOLDER/losses.txt: their losses
//
// The last batch of each epoch of the regression is smaller, so its library holds programs for two
// sizes; that of the GPT updates the parameters in each second run (TrainOptions::accumulate).
//
// The programs of example/ahead_of_time/ train from step.so alone, in C, C++ and Python, with the
// same losses, bit for bit. Without arguments it builds the regression in a temporary folder.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "gpt_model.h"
#include "text.h"

using namespace cleave;

constexpr int steps = 20;

using MakeBatch = std::function<HostTensors(int run)>;

static void train(const std::string& folder, TrainStep step, const BuildOptions& options,
                  const MakeBatch& make) {
  const BuiltLibrary built = build(step, folder + "/step.so", options);
  std::printf("%s: %lld B, %lld B of them code, %lld B weights\n", built.path.c_str(),
              static_cast<long long>(built.bytes), static_cast<long long>(built.code_bytes),
              static_cast<long long>(built.weight_bytes));
  std::ofstream batches(folder + "/batches.bin", std::ios::binary);
  std::ofstream losses(folder + "/losses.txt");
  for (int i = 0; i < steps; ++i) {
    const HostTensors batch = make(i);
    const int64_t rows = batch[0].shape()[0];
    batches.write(reinterpret_cast<const char*>(&rows), sizeof(rows));
    for (const HostTensor& t : batch) batches.write(static_cast<const char*>(t.data()), t.bytes());
    losses << std::hexfloat << step.run({batch[0], batch[1]}).loss << "\n";
  }
}

static void train_mlp(const std::string& folder) {
  Generator rng(42);
  nn::Sequential model(nn::Linear(2, 64, rng), nn::Tanh(), nn::Dropout(0.1),
                       nn::Linear(64, 1, rng));
  train(folder,
        train_step(
            model, [&](const Tensor& xy, const Tensor& z) { return mse_loss(model(xy), z); },
            optim::AdamW({.lr = 5e-3}),
            {{"xy", DType::f32, {dyn("n", 1, 256), 2}}, {"z", DType::f32, {dyn("n", 1, 256), 1}}},
            {.clip_norm = 1.0}),
        {.sizes = {{"n", {104, 256}}}}, [&](int run) -> HostTensors {
          const int64_t n = run % 4 == 3 ? 104 : 256;
          return {rng.uniform({n, 2}, -1, 1), rng.uniform({n, 1}, -1, 1)};
        });
}

static void train_gpt(const std::string& folder) {
  using example::batch, example::context;
  const example::Text text;
  Generator rng(1);
  example::Gpt model(text.vocabulary(), rng);
  train(
      folder,
      train_step(model,
                 [&](const Tensor& idx, const Tensor& target) {
                   return cross_entropy(model(idx).flatten(0, 1), target.flatten());
                 },
                 optim::AdamW({.lr = 1e-3}),
                 {{"idx", DType::i64, {batch, context}}, {"target", DType::i64, {batch, context}}},
                 {.clip_norm = 1.0, .accumulate = 2}),
      {}, [&](int) -> HostTensors {
        auto [idx, target] = text.windows(rng, batch, context);
        return {idx, target};
      });
}

int main(int argc, char** argv) {
  if (argc != 1 && argc != 3) {
    std::fprintf(stderr, "usage: ahead_of_time mlp|gpt FOLDER\n");
    return 1;
  }
  const std::filesystem::path here =
      std::filesystem::temp_directory_path() / "cleave_ahead_of_time";
  const std::string folder = argc == 3 ? argv[2] : here.string();
  std::filesystem::create_directories(folder);
  if (argc == 3 && std::string(argv[1]) == "gpt")
    train_gpt(folder);
  else
    train_mlp(folder);
  if (argc == 1) std::filesystem::remove_all(here);
  return 0;
}
