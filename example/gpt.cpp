// A language model of characters (gpt_model.h).
#include "gpt_model.h"
#include "text.h"
#include "training_run.h"

using namespace example;

int main(int argc, char** argv) {
  example::TrainingRun run(argc, argv, {.steps = 400, .items = batch * context, .unit = "tokens"});
  const example::Text text;
  Generator rng(1);
  Gpt model(text.vocabulary(), rng);
  const double peak_lr = 6e-3;
  TrainStep step = train_step(
      model,
      [&](const Tensor& idx, const Tensor& target) {
        return cross_entropy(model(idx).flatten(0, 1), target.flatten());
      },
      // Weight decay only for matrices.
      optim::AdamW({.lr = peak_lr,
                    .beta2 = 0.99,
                    .weight_decay = 0.1,
                    .decays = [](const std::string&, const Tensor& p) { return p.dim() >= 2; }}),
      {{"idx", DType::i64, {batch, context}}, {"target", DType::i64, {batch, context}}},
      {.compile = {.autocast = run.autocast()}, .clip_norm = 1.0});

  run.begin(model, step);
  while (run.more()) {
    step.set_learning_rate(optim::cosine(run.done(), peak_lr, 20, run.steps(), peak_lr / 10));
    const auto [idx, target] = text.windows(rng, batch, context);
    run.step({idx, target});
  }
  const TracedFunction logits = [&](const Tensor& idx) { return model(idx); };
  std::printf("%s\n", text.continued(model, logits, context, "Four score", 120).c_str());
  return run.end(0.3);
}
