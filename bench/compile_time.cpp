// The time of a cold compile, stage by stage: from initialised parameters to a step that can run,
// in a fresh process for each measurement, the median of several.
//
//   bench_compile_time [--rounds 5] [--threads 0]         the table
//   bench_compile_time MODEL [--layers N] [--budget PERCENT] [--threads 0] [--dump DIR]
//                            [--cache DIR]
//                                                         one figure in this process, as JSON
//   bench_compile_time --deep [--rounds 5]                the last lines alone
//
//   start     from the command, by a shell, to main(): the process, its libraries
//   trace     the model's own code, gradients and optimizer
//   graph     verify to tags        fuse, lower, emit     C text
//   remat     what runs again
//   memory    in_place, plan_memory       build           clang, over all threads
//   passes    all stages of cleave itself, from verify to emit
//   warm      cold, where another process has compiled the same before: code is loaded; of that,
//   w.trace   the trace
//
// The last lines compare 48 layers with 12: of gpt2, and of chargpt_small at 70% of its memory,
// most of which isn't parameters.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "bench/models/step_models.h"
#include "bench/timing.h"
#include "runtime/private_folder.h"

namespace {

using namespace cleave;
using Figures = std::map<std::string, double>;

struct Settings {
  std::string model, dump, cache;
  std::string cache_inside;  // folders for the warm runs
  int64_t layers = 0;
  double percent = 0;  // of memory; 0: no budget
  int threads = 0, rounds = 5;
  bool only_deep = false;
};

const std::map<std::string, std::string> column_of = {
    {"fuse", "fuse"},     {"lower", "lower"},        {"in_place", "memory"},
    {"schedule", "emit"}, {"emit", "emit"},          {"products", "memory"},
    {"build", "build"},   {"plan_memory", "memory"}, {"remat", "remat"}};

Figures measure(const Settings& s) {
  const bench::StepModel m = bench::make_step_model(s.model, s.layers);
  const auto begin = bench::Clock::now();
  CompileOptions compile{.threads = s.threads, .dump_dir = s.dump};
  compile.cache_dir = s.cache;
  if (s.percent > 0) compile.memory_budget = MemoryBudget::percent(s.percent);
  TrainStep step = train_step(*m.module, m.loss, optim::AdamW({.lr = 1e-4}), m.specs,
                              {.compile = compile, .clip_norm = m.clip_norm});
  const double cold = bench::ms_since(begin);
  const Report& r = step.report();
  Figures out = {{"cold", cold},
                 {"trace", r.trace_ms},
                 {"nodes", static_cast<double>(r.nodes)},
                 {"kernels", static_cast<double>(r.distinct_kernels)}};
  for (const CompileStage& stage : r.stages) {
    const auto column = column_of.find(stage.name);
    const std::string name = column == column_of.end() ? "graph" : column->second;
    out[name] += stage.ms;
    if (name != "memory" && name != "build") out["passes"] += stage.ms;
  }
  return out;
}

double now_ms() {
  return std::chrono::duration<double, std::milli>(bench::Clock::now().time_since_epoch()).count();
}

// The figures of one process.
std::optional<Figures> run_alone(const Settings& s, const std::string& program) {
  const double begin = now_ms();
  const std::string command = "exec " + program + " " + s.model + " --layers " +
                              std::to_string(s.layers) + " --threads " + std::to_string(s.threads) +
                              (s.percent > 0 ? " --budget " + std::to_string(s.percent) : "") +
                              (s.cache.empty() ? "" : " --cache " + s.cache);
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return std::nullopt;
  std::string text;
  char part[4096];
  for (size_t n; (n = fread(part, 1, sizeof part, pipe)) > 0;) text.append(part, n);
  if (pclose(pipe) != 0) return std::nullopt;
  auto out = nlohmann::json::parse(text).get<Figures>();
  out["start"] = out.at("main at") - begin;  // one clock for all processes
  return out;
}

constexpr const char* columns[] = {"start", "trace",   "graph",  "remat",   "fuse",
                                   "lower", "emit",    "memory", "build",   "cold",
                                   "warm",  "w.trace", "passes", "kernels", "nodes"};

std::string name_of(const Settings& s) {
  std::string out = s.model;
  if (s.layers > 0) out += "x" + std::to_string(s.layers);
  if (s.percent > 0) out += "@" + std::to_string(static_cast<int>(s.percent));
  return out;
}

// The median of each figure; nullopt if a process failed.
std::optional<Figures> row(const Settings& s, const std::string& program) {
  std::map<std::string, std::vector<double>> all;
  for (int k = 0; k < s.rounds; ++k) {
    const std::optional<Figures> one = run_alone(s, program);
    if (!one) return std::nullopt;
    for (const auto& [name, value] : *one) all[name].push_back(value);
  }
  Settings warm = s;
  warm.cache = s.cache_inside + "/" + name_of(s);
  for (int k = 0; k <= s.rounds; ++k) {
    const std::optional<Figures> one = run_alone(warm, program);
    if (!one) return std::nullopt;
    if (k == 0) continue;  // it fills the cache
    all["warm"].push_back(one->at("cold"));
    all["w.trace"].push_back(one->at("trace"));
  }
  Figures out;
  for (auto& [name, values] : all) {
    std::ranges::sort(values);
    out[name] = values[values.size() / 2];
  }
  std::printf("%-14s", name_of(s).c_str());
  for (const char* name : columns) std::printf(" %8.1f", out[name]);
  std::printf("\n");
  std::fflush(stdout);
  return out;
}

// Models of 48 layers and of 12; the exit status.
int compare_depths(Settings s, const std::string& program) {
  s.rounds = std::min(s.rounds, 3);
  for (const auto& [model, percent] : {std::pair("gpt2", 0.0), std::pair("chargpt_small", 70.0)}) {
    s.model = model;
    s.percent = percent;
    double cold[2] = {};
    for (const int64_t layers : {12, 48}) {
      s.layers = layers;
      const std::optional<Figures> figures = row(s, program);
      if (!figures) return 1;
      cold[layers == 48] = figures->at("cold");
    }
    std::printf("%s%s: 48 layers / 12 layers: %.2f\n", model, percent > 0 ? " at 70%" : "",
                cold[1] / cold[0]);
  }
  return 0;
}

int table(const Settings& settings) {
  char program[4096];
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program);
  if (length <= 0) return 1;
  const std::string self = "'" + std::string(program, static_cast<size_t>(length)) + "'";
  std::printf("%-14s", "milliseconds");
  for (const char* name : columns) std::printf(" %8s", name);
  std::printf("\n");
  std::fflush(stdout);
  const auto scratch =
      value_or_throw(runtime::PrivateFolder::make(std::filesystem::temp_directory_path()));
  Settings s = settings;
  s.cache_inside = scratch->path();
  for (const std::string& name : bench::step_model_names()) {
    s.model = name;
    if (!s.only_deep && !row(s, self)) return 1;
  }
  return compare_depths(s, self);
}

// False if the arguments aren't valid.
bool read(int argc, char** argv, Settings& out) {
  const std::vector<std::string> known = bench::step_model_names();
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    if (std::ranges::find(known, word) != known.end())
      out.model = word;
    else if (word == "--deep")
      out.only_deep = true;
    else if (k + 1 == argc)
      return false;
    else if (word == "--layers")
      out.layers = std::atoi(argv[++k]);
    else if (word == "--budget")
      out.percent = std::atof(argv[++k]);
    else if (word == "--threads")
      out.threads = std::atoi(argv[++k]);
    else if (word == "--rounds")
      out.rounds = std::max(1, std::atoi(argv[++k]));
    else if (word == "--dump")
      out.dump = argv[++k];
    else if (word == "--cache")
      out.cache = argv[++k];
    else
      return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const double main_at = now_ms();
  Settings settings;
  if (!read(argc, argv, settings)) {
    std::fprintf(stderr,
                 "usage: bench_compile_time [--rounds N] [--threads N] [--deep]\n"
                 "       bench_compile_time MODEL [--layers N] [--budget PERCENT] [--threads N] "
                 "[--dump DIR] [--cache DIR]\n");
    return 1;
  }
  if (settings.model.empty()) return table(settings);
  Figures figures = measure(settings);
  figures["main at"] = main_at;
  std::printf("%s\n", nlohmann::json(figures).dump().c_str());
  return 0;
}
