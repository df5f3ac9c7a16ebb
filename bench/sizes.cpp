// A training step whose sizes vary (dyn()), beside steps compiled for one size each, at 20 sizes.
//
//   bench_sizes [MODEL ...] [--sizes 20] [--threads 0]
//
//   compile     from initialised parameters to a step that can run for the largest sizes; beside it
//               that of a step for these alone
//   first run   median at a size that is new, without the run itself
//   recompiled  sizes at which a kernel had to be compiled
//   time        of a run by that of the step for this size alone, both measured in turn: the
//               geometric mean of the sizes, and the worst with its size
//   bits        sizes whose loss and parameters, after a few steps, are those of the steps alone
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "bench/models/step_models.h"
#include "bench/timing.h"

namespace {

using namespace cleave;

bool has_time(const std::string& model) { return model != "mlp" && model != "resnet50"; }

std::vector<InputSpec> specs_at(const bench::StepModel& m, const InputDim& batch,
                                const InputDim& time, bool varies_time) {
  std::vector<InputSpec> out = m.specs;
  for (InputSpec& s : out) {
    const std::vector<int64_t>& sizes = s.shape.largest();
    std::vector<InputDim> dims(sizes.begin(), sizes.end());
    dims[0] = batch;
    if (varies_time) dims[1] = time;
    s.shape = InputShape(dims);
  }
  return out;
}

// The first elements of the batch.
HostTensors inputs_at(const bench::StepModel& m, int64_t batch, int64_t time, bool varies_time) {
  HostTensors out;
  for (const HostTensor& whole : m.inputs) {
    std::vector<int64_t> shape = whole.shape();
    shape[0] = batch;
    if (varies_time) shape[1] = time;
    HostTensor t(whole.dtype(), shape);
    std::memcpy(t.data(), whole.data(), static_cast<size_t>(t.bytes()));
    out.push_back(std::move(t));
  }
  return out;
}

double run_ms(TrainStep& step, const HostTensors& in, double& loss) {
  const auto begin = bench::Clock::now();
  loss = step.run({in[0], in[1]}).loss;
  return bench::ms_since(begin);
}

bool same_parameters(const nn::Module& a, const nn::Module& b) {
  const auto x = a.named_parameters(), y = b.named_parameters();
  for (size_t i = 0; i < x.size(); ++i)
    if (!x[i].second.value().same_bits(y[i].second.value())) return false;
  return true;
}

void measure(const std::string& name, int64_t count, int threads) {
  const bench::StepModel ours = bench::make_step_model(name), theirs = bench::make_step_model(name);
  const bool time = has_time(name);
  const int64_t most_batch = ours.specs[0].shape.largest()[0];
  const int64_t most_time = time ? ours.specs[0].shape.largest()[1] : 1;
  const TrainOptions options{.compile = {.threads = threads}, .clip_norm = ours.clip_norm};
  const auto step_of = [&](const bench::StepModel& m, const InputDim& b, const InputDim& t,
                           Store store = {}) {
    return train_step(*m.module, m.loss, optim::AdamW({.lr = 1e-4}), specs_at(m, b, t, time),
                      options, std::move(store));
  };
  auto begin = bench::Clock::now();
  TrainStep varying = step_of(ours, dyn("B", 1, most_batch), dyn("T", 1, most_time));
  const double compile_ms = bench::ms_since(begin);
  begin = bench::Clock::now();
  Store store = step_of(theirs, most_batch, most_time).store();
  const double alone_ms = bench::ms_since(begin);

  Generator rng(7);
  std::vector<double> firsts;
  double log_sum = 0, worst = 0;
  std::string worst_at;
  int64_t same = 0, recompiled = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t batch = 1 + rng.integer(most_batch),
                  length = time ? 1 + rng.integer(most_time) : 1;
    const HostTensors in = inputs_at(ours, batch, length, time);
    TrainStep alone = step_of(theirs, batch, length, store);
    double loss = 0, want = 0;
    const double first = run_ms(varying, in, loss);
    recompiled += varying.report().recompiled.empty() ? 0 : 1;
    if (!varying.report().recompiled.empty())
      std::fprintf(stderr, "%s: %s\n", name.c_str(), varying.report().recompiled.c_str());
    run_ms(alone, in, want);
    bool is_same = loss == want;
    double least = 1e300, least_alone = 1e300, spent = 0;
    for (int k = 0; k < 5 || (spent < 300 && k < 1000); ++k) {
      const bool first_is_ours = k % 2 == 0;
      for (const bool is_ours : {first_is_ours, !first_is_ours}) {
        double& to = is_ours ? least : least_alone;
        const double ms = run_ms(is_ours ? varying : alone, in, is_ours ? loss : want);
        to = std::min(to, ms);
        spent += ms;
      }
      is_same = is_same && loss == want;
    }
    is_same = is_same && same_parameters(*ours.module, *theirs.module);
    same += is_same ? 1 : 0;
    firsts.push_back(first - least);
    const double ratio = least / least_alone;
    log_sum += std::log(ratio);
    if (ratio > worst) {
      worst = ratio;
      worst_at = "B=" + std::to_string(batch) + (time ? ",T=" + std::to_string(length) : "");
    }
  }
  std::ranges::sort(firsts);
  std::printf("%-14s %7.0f /%5.0f ms %9.1f ms %10lld %9.3f  %.3f at %-12s %3lld of %lld\n",
              name.c_str(), compile_ms, alone_ms, firsts[firsts.size() / 2],
              static_cast<long long>(recompiled), std::exp(log_sum / static_cast<double>(count)),
              worst, worst_at.c_str(), static_cast<long long>(same), static_cast<long long>(count));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> models;
  int64_t count = 20;
  int threads = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--sizes") == 0 && i + 1 < argc)
      count = std::atoll(argv[++i]);
    else if (std::strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
      threads = std::atoi(argv[++i]);
    else
      models.emplace_back(argv[i]);
  }
  if (models.empty()) models = {"demo", "mlp", "chargpt_small", "chargpt", "bert_small"};
  std::printf("%-14s %17s %12s %10s %9s  %-21s %s\n", "step", "compile / alone", "first run",
              "recompiled", "time", "worst", "bits");
  for (const std::string& model : models) measure(model, count, threads);
}
