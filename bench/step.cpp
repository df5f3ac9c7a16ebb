// One whole training step (forward, backward, clipping, AdamW): from trace to runnable, and a step.
//
//   bench_step           every model as a table row
//   bench_step gpt2      one model as one JSON object: compile_ms, step_ms, kernels, peaks
//   bench_step gpt2 DIR  the same, with the stages and units of the compile written to DIR
//
// demo is `make demo`'s model: 4 layers, width 128, 4 heads, 12 x 64 tokens of 63 characters. gpt2
// is GPT-2 124M: 12 layers, width 768, 12 heads, vocabulary 50304, 4 x 64 tokens.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "tool/gpt.h"

namespace {

using namespace cleave;

struct Model {
  const char* name;
  tool::GptShape shape;
  int64_t batch, time;
  int steps;
};

constexpr Model models[] = {
    {"demo", {63, 4, 128, 4, 64, 0}, 12, 64, 50},
    {"gpt2", {50304, 12, 768, 12, 1024, 0}, 4, 64, 5},
};

struct Figures {
  double compile_ms = 0, step_ms = 0;
  int64_t kernels = 0, planned = 0, measured = 0;
  Report report;
};

Figures measure(const Model& m, const std::string& dump_dir) {
  using Clock = std::chrono::steady_clock;
  auto ms_since = [](Clock::time_point t) {
    return std::chrono::duration<double, std::milli>(Clock::now() - t).count();
  };
  Generator rng(0);
  tool::Gpt model(m.shape, rng);
  const std::vector<InputSpec> specs = {{"idx", DType::i64, {m.batch, m.time}},
                                        {"target", DType::i64, {m.batch, m.time}}};
  const auto begin = Clock::now();
  TrainStep step = train_step(
      model, [&](const Tensor& idx, const Tensor& target) { return model.loss(idx, target); },
      optim::AdamW({.lr = 1e-4}), specs, {.dump_dir = dump_dir, .clip_norm = 1.0});
  Figures f;
  f.compile_ms = ms_since(begin);
  f.kernels = step.report().kernels;
  f.report = step.report();
  f.planned = step.report().planned_peak_bytes;
  const HostTensor idx = rng.integers({m.batch, m.time}, 0, m.shape.vocabulary);
  const HostTensor target = rng.integers({m.batch, m.time}, 0, m.shape.vocabulary);
  step.watch_memory();
  step.run({idx, target});
  f.measured = step.measured_peak_bytes();
  std::vector<double> times;
  for (int i = 0; i < m.steps; ++i) {
    const auto at = Clock::now();
    step.run({idx, target});
    times.push_back(ms_since(at));
  }
  std::sort(times.begin(), times.end());
  f.step_ms = times[times.size() / 2];
  return f;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 1)
    std::printf("%-6s %12s %10s %8s %16s %16s\n", "model", "compile ms", "step ms", "kernels",
                "planned peak", "measured peak");
  for (const Model& m : models) {
    if (argc > 1 && std::strcmp(argv[1], m.name) != 0) continue;
    const Figures f = measure(m, argc > 2 ? argv[2] : "");
    if (argc == 1)
      std::printf("%-6s %12.1f %10.2f %8ld %16ld %16ld\n", m.name, f.compile_ms, f.step_ms,
                  f.kernels, f.planned, f.measured);
    else {
      std::printf("{\"trace_ms\": %.2f, ", f.report.trace_ms);
      for (const CompileStage& s : f.report.stages)
        std::printf("\"%s_ms\": %.2f, ", s.name.c_str(), s.ms);
      std::printf(
          "\"model\": \"%s\", \"compile_ms\": %.2f, \"step_ms\": %.3f, \"kernels\": %ld, "
          "\"planned_peak_bytes\": %ld, \"peak_bytes\": %ld}\n",
          m.name, f.compile_ms, f.step_ms, f.kernels, f.planned, f.measured);
    }
  }
}
