// One whole training step (forward, backward, AdamW): from a model to runnable, and a step.
//
//   bench_step [--seconds 3] [--threads 0]        each of bench/models/step_models.h as a row
//   bench_step gpt2 [--seconds 3] [--threads 0]   one model, in a fresh process, as a JSON object
//   bench_step gpt2:bf16 ...                      the same under autocast; without it in f32
//   bench_step model.pt2:bf16 ...                 of a file (.pt2, .onnx, .clv) that returns a loss
//   bench_step gpt2_16x1024:bf16 --device cuda:0    on a GPU; without limits
//   bench_step gpt2:bf16 --device cuda:0 --no-graphs --no-offload
//                                                 each call started by itself; nothing goes to the
//                                                 host's memory
//   bench_step gpt2:bf16 --device cuda:0 --any-order
//                                                 CompileOptions::deterministic is false
//   bench_step gpt2 --profile                     each step of the program: ms, GB/s, GFLOP/s
//   bench_step gpt2 --tune --device cuda:0        with the fastest of a library's ways, measured
//                                                 first
//   bench_step gpt2 --dump DIR                    each stage of its compilation as a file
//
//   host_ms       of a device: how long a run takes the host when nothing is queued before it
//   cold_ms       from initialised parameters to runnable: trace_ms, compile_ms and its stages_ms
//   first_ms      the same with the first step
//   step_ms       median of the n steps of about --seconds, after 3 that don't count; min_ms
//   losses        of the first 8 steps
//   resident_mb   growth of the resident set since the model was made, at its highest moment:
//                 gradients, optimizer state, arena and compiler; not the parameters
//   limit_ms      what the machine could do: the flops of products, convolutions and attention at
//                 the best measured rate of a product, the bytes of the rest at a copy's
//   peak_mb       peak_bytes beyond the parameters
//   peak_bytes    measured in the arena, as planned_peak_bytes counts: with the parameters
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "bench/models/step_models.h"
#include "bench/resident.h"
#include "bench/timing.h"
#include "runtime/ceilings.h"

namespace {

using namespace cleave;
using bench::Clock;
using bench::ms_since;

struct Settings {
  std::string model;  // empty: all
  std::optional<DType> autocast = {};
  double seconds = 3;
  int threads = 0;
  double budget_percent = 0;  // 0: none
  bool profile = false, tune = false, offload = true;
  bool deterministic = true;
  CudaGraphs graphs = CudaGraphs::automatic;
  std::string dump;
  Device device = Device::cpu();
  Target target = Target::here();
};

// The times of as many steps as take about `seconds` together.
std::vector<double> timed_steps(const std::function<void()>& run, double seconds) {
  for (int k = 0; k < 2; ++k) run();
  auto at = Clock::now();
  run();
  const double n = std::clamp(1e3 * seconds / std::max(1e-3, ms_since(at)), 5.0, 400.0);
  std::vector<double> times;
  for (int k = 0; k < static_cast<int>(n); ++k) {
    at = Clock::now();
    run();
    times.push_back(ms_since(at));
  }
  std::ranges::sort(times);
  return times;
}

// How long a run takes the host, in ms: the median of runs with nothing queued before them. On a
// device it returns when it has queued the step; elsewhere it is the step's own time.
double host_ms_of(TrainStep& step, std::span<const InputRef> inputs) {
  std::vector<double> times;
  for (int k = 0; k < 21; ++k) {
    const auto at = Clock::now();
    const StepResult result = step.run(inputs);
    times.push_back(ms_since(at));
    result.loss.value();  // waits
  }
  std::ranges::sort(times);
  return times[times.size() / 2];
}

struct Limit {
  double flops_per_us = 0, bytes_per_us = 0;
  double us(const StepTime& t) const {
    return t.flops > 0 ? static_cast<double>(t.flops) / flops_per_us
                       : static_cast<double>(t.bytes) / bytes_per_us;
  }
};

Limit measure_limit(const Settings& settings) {
  const auto executor = make_thread_pool(settings.threads);
  return {runtime::product_flops_per_us(*executor, settings.autocast.value_or(DType::f32),
                                        settings.target),
          runtime::copy_bytes_per_us(*executor)};
}

// The calls of each kind together, then each by itself.
void print_profile(std::vector<StepTime> times, const Limit& limit) {
  std::map<std::string, StepTime> kinds;
  std::map<std::string, int> calls;
  for (const StepTime& t : times) {
    StepTime& all = kinds[t.kind];
    ++calls[t.kind];
    all.min_ns += t.min_ns, all.bytes += t.bytes, all.flops += t.flops;
  }
  for (const auto& [kind, all] : kinds) {
    const auto ns = static_cast<double>(std::max<int64_t>(all.min_ns, 1));
    std::printf("%-32s %5d calls %10.1f us %8.1f GB/s %8.1f GFLOP/s\n", kind.c_str(), calls[kind],
                ns / 1e3, static_cast<double>(all.bytes) / ns, static_cast<double>(all.flops) / ns);
  }
  std::ranges::stable_sort(times, std::greater(), &StepTime::min_ns);
  std::printf("%-32s %-12s %10s %10s %8s %8s\n", "value", "kind", "us", "limit us", "GB/s",
              "GFLOP/s");
  for (const StepTime& t : times) {
    const auto ns = static_cast<double>(std::max<int64_t>(t.min_ns, 1));
    std::printf("%-32s %-12s %10.1f %10.1f %8.1f %8.1f\n", t.name.c_str(), t.kind.c_str(), ns / 1e3,
                limit.us(t), static_cast<double>(t.bytes) / ns, static_cast<double>(t.flops) / ns);
  }
}

nlohmann::ordered_json measure(const std::string& name, const Settings& settings) {
  const bench::StepModel m = bench::make_step_model(name);
  const std::vector<InputRef> inputs(m.inputs.begin(), m.inputs.end());
  const int64_t before = bench::resident_bytes("VmRSS");
  const auto begin = Clock::now();
  const auto compiled = [&](const Target& target) {
    return train_step(
        *m.module, m.loss, optim::AdamW({.lr = 1e-4}), m.specs,
        {.compile = {.threads = settings.threads,
                     .target = target,
                     .device = settings.device,
                     .offload = settings.offload,
                     .deterministic = settings.deterministic,
                     .cudagraphs = settings.graphs,
                     .dump_dir = settings.dump,
                     .memory_budget = settings.budget_percent > 0
                                          ? MemoryBudget::percent(settings.budget_percent)
                                          : MemoryBudget(),
                     .autocast = settings.autocast},
         .clip_norm = m.clip_norm});
  };
  TrainStep step = compiled(settings.target);
  if (settings.tune) step = compiled(step.tuned_target());
  const double cold_ms = ms_since(begin);
  const double loss = step.run(inputs).loss;
  const double first_ms = ms_since(begin);
  std::vector<double> losses = {loss};
  for (int k = 1; k < 8; ++k) losses.push_back(step.run(inputs).loss);
  // On a device of three runs the first is waited for: the median is still a step's.
  StepResult latest;
  const std::vector<double> times =
      timed_steps([&] { latest = step.run(inputs); }, settings.seconds);
  const double last = times.empty() ? loss : latest.loss.value();
  const double host_ms = settings.device.is_cpu() ? 0 : host_ms_of(step, inputs);
  const int64_t resident = bench::resident_bytes("VmHWM") - before;
  step.profile_kernels(true);
  for (int k = 0; k < 3; ++k) step.run(inputs);
  constexpr double unknown = std::numeric_limits<double>::infinity();  // takes no time
  const Limit limit = settings.device.is_cpu() ? measure_limit(settings) : Limit{unknown, unknown};
  double limit_ms = 0;
  for (const StepTime& t : step.step_times()) limit_ms += limit.us(t) / 1e3;
  if (settings.profile) print_profile(step.step_times(), limit);
  step.profile_kernels(false);
  step.watch_memory();  // touches the whole arena
  step.run(inputs);
  const Report& r = step.report();
  nlohmann::ordered_json counters;
  for (const auto& [counter, count] : r.counters) counters[counter] = count;
  const int64_t parameters = m.module->parameter_count() * size_of(DType::f32);
  nlohmann::ordered_json stages;
  for (const CompileStage& s : r.stages) stages[s.name] = s.ms;
  return {{"model", name},
          {"autocast", settings.autocast ? name_of(*settings.autocast) : ""},
          {"step_ms", times[times.size() / 2]},
          {"min_ms", times.front()},
          {"host_ms", host_ms},
          {"limit_ms", limit_ms},
          {"n", times.size()},
          {"cold_ms", cold_ms},
          {"first_ms", first_ms},
          {"trace_ms", r.trace_ms},
          {"compile_ms", r.compile_ms},
          {"stages_ms", stages},
          {"kernels", r.kernels},
          {"counters", counters},
          {"distinct_kernels", r.distinct_kernels},
          {"planned_peak_bytes", r.planned_peak_bytes},
          {"peak_bytes", step.measured_peak_bytes()},
          {"peak_mb", static_cast<double>(step.measured_peak_bytes() - parameters) / 1e6},
          {"resident_mb", static_cast<double>(resident) / 1e6},
          {"loss", loss},
          {"losses", losses},
          {"finite", std::isfinite(loss) && std::isfinite(last)},
          {"note", m.note}};
}

void print_row(const nlohmann::ordered_json& f) {
  std::printf("%-14s %10.0f %10.2f %8ld %8ld %14ld %14ld %10.0f %8.3f  %s\n",
              f["model"].get<std::string>().c_str(), f["cold_ms"].get<double>(),
              f["step_ms"].get<double>(), f["kernels"].get<long>(),
              f["distinct_kernels"].get<long>(), f["planned_peak_bytes"].get<long>(),
              f["peak_bytes"].get<long>(), f["resident_mb"].get<double>(), f["loss"].get<double>(),
              f["note"].get<std::string>().c_str());
  std::fflush(stdout);
}

// False if the arguments aren't valid.
bool read(int argc, char** argv, Settings& out) {
  std::vector<std::string> known = bench::step_model_names();
  for (const std::string& name : bench::device_model_names()) known.push_back(name);
  for (int k = 1; k < argc; ++k) {
    std::string word = argv[k];
    for (const DType half : {DType::bf16, DType::f16}) {
      const std::string suffix = fmt::format(":{}", name_of(half));
      if (!word.ends_with(suffix)) continue;
      word.resize(word.size() - suffix.size());
      out.autocast = half;
    }
    if (word == "--seconds" && k + 1 < argc)
      out.seconds = std::atof(argv[++k]);
    else if (word == "--profile")
      out.profile = true;
    else if (word == "--tune")
      out.tune = true;
    else if (word == "--no-graphs")
      out.graphs = CudaGraphs::off;
    else if (word == "--any-order")
      out.deterministic = false;
    else if (word == "--no-offload")
      out.offload = false;
    else if (word == "--dump" && k + 1 < argc)
      out.dump = argv[++k];
    else if (word == "--budget" && k + 1 < argc)
      out.budget_percent = std::atof(argv[++k]);
    else if (word == "--device" && k + 1 < argc)
      out.device = Device::parse(argv[++k]);
    else if (word == "--target" && k + 1 < argc)
      out.target = Target::named(argv[++k]);
    else if (word == "--threads" && k + 1 < argc)
      out.threads = std::atoi(argv[++k]);
    else if (bench::is_model_file(word) || std::ranges::find(known, word) != known.end())
      out.model = word;
    else
      return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  if (!read(argc, argv, settings)) {
    std::string names;
    for (const std::string& name : bench::step_model_names()) names += " " + name;
    std::fprintf(stderr,
                 "usage: bench_step [MODEL[:bf16]] [--seconds S] [--threads N] [--budget PERCENT] "
                 "[--target T] [--tune] [--profile] [--no-graphs] [--any-order] [--no-offload] "
                 "[--dump DIR]; "
                 "MODEL is one of%s\n",
                 names.c_str());
    return 1;
  }
  if (!settings.model.empty()) {
    std::printf("%s\n", measure(settings.model, settings).dump().c_str());
    return 0;
  }
  std::printf("%-14s %10s %10s %8s %8s %14s %14s %10s %8s\n", "model", "cold ms", "step ms",
              "kernels", "distinct", "planned peak", "measured peak", "grown MB", "loss");
  for (const std::string& name : bench::step_model_names()) print_row(measure(name, settings));
}
