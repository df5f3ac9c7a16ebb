// A whole training step (forward, backward, AdamW) under memory budgets.
//
//   bench_budget [MODEL] [--json]    demo, gpt2 or resnet50; default: all of them
//
// Budgets at 100, 75, 50, 25 and 0% of the way from the smallest peak of the step's programs to the
// peak with nothing recomputed. For each: the planned and the measured peak, the median time of a
// step, the recomputation time by the cost table, and whether the losses have the bits of the first
// row.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "bench/models/resnet50.h"
#include "bench/timing.h"
#include "tool/gpt.h"

namespace {

using namespace cleave;
using bench::Clock;
using bench::ms_since;

struct Work {
  std::function<TracedFunction(const nn::Module&)> loss;
  std::function<std::unique_ptr<nn::Module>(Generator&)> make;
  std::vector<InputSpec> specs;
  std::vector<HostTensor> inputs;
  int steps = 5;
};

Work gpt_work(const tool::GptShape& shape, int64_t batch, int64_t time, int steps) {
  Work w;
  w.make = [shape](Generator& rng) { return std::make_unique<tool::Gpt>(shape, rng); };
  w.loss = [](const nn::Module& m) -> TracedFunction {
    const auto& model = static_cast<const tool::Gpt&>(m);
    return [&model](const Tensor& idx, const Tensor& target) { return model.loss(idx, target); };
  };
  w.specs = {{"idx", DType::i64, {batch, time}}, {"target", DType::i64, {batch, time}}};
  Generator rng(1);
  for (int k = 0; k < 2; ++k) w.inputs.push_back(rng.integers({batch, time}, 0, shape.vocabulary));
  w.steps = steps;
  return w;
}

Work resnet_work() {
  Work w;
  w.make = [](Generator& rng) { return std::make_unique<bench::ResNet50>(rng); };
  w.loss = [](const nn::Module& m) -> TracedFunction {
    const auto& model = static_cast<const bench::ResNet50&>(m);
    return [&model](const Tensor& x, const Tensor& y) { return model.loss(x, y); };
  };
  w.specs = {{"images", DType::f32, {8, 3, 128, 128}}, {"labels", DType::i64, {8}}};
  Generator rng(1);
  w.inputs.push_back(rng.normal({8, 3, 128, 128}));
  w.inputs.push_back(rng.integers({8}, 0, 1000));
  w.steps = 3;
  return w;
}

struct Row {
  double percent = 0;
  int64_t budget = 0, planned = 0, measured = 0, recompute_ns = 0;
  double compile_ms = 0, step_ms = 0;
  std::vector<double> losses;
};

Row measure(const Work& w, const MemoryBudget& budget) {
  Generator rng(0);
  const std::unique_ptr<nn::Module> model = w.make(rng);
  const auto begin = Clock::now();
  TrainStep step = train_step(*model, w.loss(*model), optim::AdamW({.lr = 1e-4}), w.specs,
                              {.compile = {.memory_budget = budget}});
  Row row;
  row.compile_ms = ms_since(begin);
  row.planned = step.report().planned_peak_bytes;
  row.recompute_ns = step.report().recompute_ns;
  step.watch_memory();
  std::vector<double> times;
  for (int k = 0; k <= w.steps; ++k) {
    const auto at = Clock::now();
    row.losses.push_back(step.run({w.inputs[0], w.inputs[1]}).loss);
    if (k > 0) times.push_back(ms_since(at));
  }
  row.measured = step.measured_peak_bytes();
  std::sort(times.begin(), times.end());
  row.step_ms = times[times.size() / 2];
  return row;
}

void compare(const char* name, const Work& w, bool json) {
  Generator rng(0);
  const std::unique_ptr<nn::Module> model = w.make(rng);
  const auto begin = Clock::now();
  const std::vector<MemoryTrade> trades =
      memory_trades(*model, w.loss(*model), optim::AdamW({.lr = 1e-4}), w.specs);
  const double trades_ms = ms_since(begin);
  const int64_t whole = trades.front().peak_bytes, least = trades.back().peak_bytes;
  if (!json)
    std::printf("%s: %zu programs from %ld B to %ld B, found in %.0f ms\n", name, trades.size(),
                whole, least, trades_ms);
  Row first;
  for (const double percent : {-1.0, 100.0, 75.0, 50.0, 25.0, 0.0}) {
    const int64_t budget =
        least + static_cast<int64_t>(percent / 100 * static_cast<double>(whole - least));
    Row row = measure(w, percent < 0 ? MemoryBudget() : MemoryBudget(budget));
    if (percent < 0) first = row;
    const bool same = row.losses == first.losses;
    if (json)
      std::printf(
          "{\"model\": \"%s\", \"percent\": %.0f, \"budget_bytes\": %ld, "
          "\"planned_peak_bytes\": %ld, \"peak_bytes\": %ld, \"step_ms\": %.2f, "
          "\"recompute_ms\": %.2f, \"compile_ms\": %.0f, \"same_losses\": %s}\n",
          name, percent, percent < 0 ? 0 : budget, row.planned, row.measured, row.step_ms,
          static_cast<double>(row.recompute_ns) / 1e6, row.compile_ms, same ? "true" : "false");
    else
      std::printf(
          "  %4s%%  planned %12ld  measured %12ld  step %9.2f ms (%.2fx)  recomputed "
          "%8.2f ms  compiled in %6.0f ms  losses %s\n",
          percent < 0 ? "none" : std::to_string(static_cast<int>(percent)).c_str(), row.planned,
          row.measured, row.step_ms, row.step_ms / first.step_ms,
          static_cast<double>(row.recompute_ns) / 1e6, row.compile_ms, same ? "equal" : "DIFFER");
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const char* only = nullptr;
  bool json = false;
  for (int k = 1; k < argc; ++k)
    if (std::strcmp(argv[k], "--json") == 0)
      json = true;
    else
      only = argv[k];
  const auto wanted = [&](const char* name) { return !only || std::strcmp(only, name) == 0; };
  if (wanted("demo")) compare("demo", gpt_work({63, 4, 128, 4, 64, 0}, 12, 64, 20), json);
  if (wanted("gpt2")) compare("gpt2", gpt_work({50304, 12, 768, 12, 1024, 0}, 4, 64, 3), json);
  if (wanted("resnet50")) compare("resnet50", resnet_work(), json);
}
