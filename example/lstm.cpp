// A language model of two LSTM layers (Zaremba et al., 2014) with truncated backpropagation: each
// row of the batch continues through the text, and the states at the end of a training step are
// buffers, from which the next step starts. Gradients stop there.
#include "text.h"
#include "training_run.h"

using namespace cleave;

constexpr int64_t width = 96, layers = 2, batch = 16, profile_kernels = 32;

struct LanguageModel : nn::Module {
  LanguageModel(int64_t vocabulary, Generator& rng)
      : embed(add_module("embed", nn::Embedding(vocabulary, width, rng))),
        lstm(add_module("lstm",
                        nn::LSTM(width, width, rng, {.num_layers = layers, .batch_first = true}))),
        head(add_module("head", nn::Linear(width, vocabulary, rng))),
        // Not part of the state_dict.
        h(add_buffer("h", HostTensor(DType::f32, {layers, batch, width}), false)),
        c(add_buffer("c", HostTensor(DType::f32, {layers, batch, width}), false)) {}

  // idx i64[n,time] -> f32[n,time,vocabulary]; starts from the states and updates them.
  Tensor operator()(const Tensor& idx, const Variable& h_state, const Variable& c_state) const {
    const auto [output, h_n, c_n] = lstm(embed(idx), {h_state, c_state});
    assign(h_state, h_n);
    assign(c_state, c_n);
    return head(output);
  }

  nn::Embedding embed;
  nn::LSTM lstm;
  nn::Linear head;
  Variable h, c;
};

// Generates one character after another, with separate states.
std::string continued(const LanguageModel& model, const example::Text& text, std::string prompt,
                      int64_t count) {
  const Variable h("h", HostTensor(DType::f32, {layers, 1, width}), VariableKind::buffer);
  const Variable c("c", HostTensor(DType::f32, {layers, 1, width}), VariableKind::buffer);
  CompiledFunction next =
      compile([&](const Tensor& idx) { return model(idx, h, c); }, {{"idx", DType::i64, {1, 1}}});
  HostTensor idx(DType::i64, {1, 1});
  char likeliest = 0;
  const auto read = [&](char character) {
    idx.at<int64_t>({0, 0}) = text.code(character);
    likeliest = text.likeliest(next.run({idx})[0].data<float>());
  };
  for (char character : prompt) read(character);
  for (; count > 0; --count) {
    prompt += likeliest;
    read(likeliest);
  }
  return prompt;
}

int main(int argc, char** argv) {
  example::TrainingRun run(argc, argv,
                           {.steps = 250, .items = batch * profile_kernels, .unit = "tokens"});
  const example::Text text;
  Generator rng(1);
  LanguageModel model(text.vocabulary(), rng);
  TrainStep step = train_step(model,
                              [&](const Tensor& idx, const Tensor& target) {
                                return cross_entropy(model(idx, model.h, model.c).flatten(0, 1),
                                                     target.flatten());
                              },
                              optim::Adam({.lr = 5e-3}),
                              {{"idx", DType::i64, {batch, profile_kernels}},
                               {"target", DType::i64, {batch, profile_kernels}}},
                              {.compile = {.autocast = run.autocast()}, .clip_norm = 1.0});

  std::vector<int64_t> places(static_cast<size_t>(batch));
  for (int64_t b = 0; b < batch; ++b) places[b] = b * text.size() / batch;
  run.begin(model, step);
  while (run.more()) {
    const auto [idx, target] = text.rows(places, profile_kernels);
    run.step({idx, target});
    for (int64_t& place : places) place += profile_kernels;
  }
  std::printf("%s\n", continued(model, text, "Four score", 120).c_str());
  return run.end(0.3);
}
