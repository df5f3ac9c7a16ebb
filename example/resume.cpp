// A convolutional network under a memory budget, interrupted and resumed: the run that continues
// from the checkpoint ends with the bits of the run that was never interrupted, dropout, optimizer
// and order of the examples included.
#include "pictures.h"

#include <cstdio>

using namespace cleave;

constexpr int64_t batch = 32, size = 24, steps = 80, interruption = 30;

struct Net : nn::Sequential {
  explicit Net(Generator& rng)
      : nn::Sequential(nn::Conv2d(3, 16, 3, rng, {.padding = 1}), nn::BatchNorm2d(16), nn::ReLU(),
                       nn::Conv2d(16, 32, 3, rng, {.stride = 2, .padding = 1}), nn::BatchNorm2d(32),
                       nn::ReLU(), nn::Conv2d(32, 32, 3, rng, {.stride = 2, .padding = 1}),
                       nn::BatchNorm2d(32), nn::ReLU(), nn::Flatten(), nn::Dropout(0.2),
                       nn::Linear(32 * size * size / 16, example::shape_kinds, rng)) {}
};

// Everything that one run has: it can be thrown away and built again.
struct Run {
  Run(const data::SourcePtr& examples, double budget)
      : rng(1), net(rng),
        step(train_step(
            net,
            [this](const Tensor& x, const Tensor& label) { return cross_entropy(net(x), label); },
            optim::AdamW({.lr = 2e-3}),
            {{"x", DType::f32, {batch, 3, size, size}}, {"label", DType::i64, {batch}}},
            {.compile = {.memory_budget = MemoryBudget::percent(budget)}})),
        batches(examples, {.size = batch, .seed = 5}) {}

  double advance(int64_t until) {
    double loss = 0;
    while (step.steps() < until) {
      const HostTensors& b = batches.next();
      step.set_learning_rate(optim::cosine(step.steps(), 2e-3, 10, steps));
      loss = step.run({b[0], b[1]}).loss;
    }
    return loss;
  }
  void save(const std::string& path) const {
    save_checkpoint(path, step.store(), {{"batch", std::to_string(batches.position())}});
  }
  void resume(const std::string& path) {
    const Metadata about = load_checkpoint(path, step.store());
    batches.seek(std::stoll(about.at("batch")));
  }

  Generator rng;
  Net net;
  TrainStep step;
  data::Batches batches;
};

int main() {
  Generator rng(9);
  const example::Pictures pictures = example::draw_shapes(rng, 640, size);
  const data::SourcePtr examples = data::tensors({pictures.images, pictures.labels});

  Run whole(examples, 100);
  const double first = whole.advance(1), last = whole.advance(steps);
  {
    Run interrupted(examples, 100);
    interrupted.advance(interruption);
    interrupted.save("shapes.safetensors");
  }
  Run resumed(examples, 80);  // with less memory: the same bits
  resumed.resume("shapes.safetensors");
  const double again = resumed.advance(steps);

  std::printf("loss %.4f -> %.4f, resumed at %lld: %.4f\n", first, last,
              static_cast<long long>(interruption), again);
  std::printf("peak %lld bytes, under the budget %lld\n",
              static_cast<long long>(whole.step.report().planned_peak_bytes),
              static_cast<long long>(resumed.step.report().planned_peak_bytes));
  bool same = last == again;
  const Store a = whole.step.store(), b = resumed.step.store();
  for (const auto& [name, v] : a.entries()) same &= v.value().same_bits(b.at(name).value());
  std::printf("%s\n", same ? "every parameter and state has the same bits" : "BITS DIFFER");
  return same && last < first / 2 ? 0 : 1;
}
