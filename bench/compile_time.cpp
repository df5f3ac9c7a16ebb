// The time of a cold compile, stage by stage: from initialised parameters to a step that can run,
// in a fresh process for each measurement, the median of several.
//
//   bench_compile_time [--rounds 5] [--threads 0]         the table
//   bench_compile_time MODEL [--layers N] [--threads 0] [--dump DIR] [--cache DIR]
//                                                         one figure in this process, as JSON
//
//   start     from the command, by a shell, to main(): the process, its libraries
//   trace     the model's own code, gradients and optimizer
//   graph     verify to tags        fuse, lower, emit     C text
//   memory    in_place, plan_memory       build           clang, over all threads
//   passes    all stages of cleave itself, from verify to emit
//   warm      cold, where another process has compiled the same before: code is loaded; of that,
//   w.trace   the trace
//
// The last lines compare 48 layers of gpt2 with its 12.
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
  int threads = 0, rounds = 5;
};

const std::map<std::string, std::string> column_of = {
    {"fuse", "fuse"}, {"lower", "lower"},     {"in_place", "memory"}, {"schedule", "emit"},
    {"emit", "emit"}, {"products", "memory"}, {"build", "build"},     {"plan_memory", "memory"}};

Figures measure(const Settings& s) {
  const bench::StepModel m = bench::make_step_model(s.model, s.layers);
  const auto begin = bench::Clock::now();
  TrainStep step =
      train_step(*m.module, m.loss, optim::AdamW({.lr = 1e-4}), m.specs,
                 {.compile = {.threads = s.threads, .cache_dir = s.cache, .dump_dir = s.dump},
                  .clip_norm = m.clip_norm});
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

constexpr const char* columns[] = {"start",   "trace",  "graph",   "fuse", "lower",
                                   "emit",    "memory", "build",   "cold", "warm",
                                   "w.trace", "passes", "kernels", "nodes"};

// The median of each figure; nullopt if a process failed.
std::optional<Figures> row(const Settings& s, const std::string& program) {
  std::map<std::string, std::vector<double>> all;
  for (int k = 0; k < s.rounds; ++k) {
    const std::optional<Figures> one = run_alone(s, program);
    if (!one) return std::nullopt;
    for (const auto& [name, value] : *one) all[name].push_back(value);
  }
  Settings warm = s;
  warm.cache = s.cache_inside + "/" + s.model + std::to_string(s.layers);
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
  std::printf("%-14s", s.layers == 0 ? s.model.c_str()
                                     : (s.model + " x" + std::to_string(s.layers)).c_str());
  for (const char* name : columns) std::printf(" %8.1f", out[name]);
  std::printf("\n");
  std::fflush(stdout);
  return out;
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
  double deep[2] = {};
  for (const std::string& name : bench::step_model_names()) {
    s.model = name;
    const std::optional<Figures> figures = row(s, self);
    if (!figures) return 1;
    if (name == "gpt2") deep[0] = figures->at("cold");
  }
  s.model = "gpt2";
  s.layers = 48;
  s.rounds = std::min(settings.rounds, 3);
  const std::optional<Figures> figures = row(s, self);
  if (!figures) return 1;
  deep[1] = figures->at("cold");
  std::printf("gpt2: 48 layers / 12 layers: %.2f\n", deep[1] / deep[0]);
  return 0;
}

// False if the arguments aren't valid.
bool read(int argc, char** argv, Settings& out) {
  const std::vector<std::string> known = bench::step_model_names();
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    if (std::ranges::find(known, word) != known.end())
      out.model = word;
    else if (k + 1 == argc)
      return false;
    else if (word == "--layers")
      out.layers = std::atoi(argv[++k]);
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
                 "usage: bench_compile_time [--rounds N] [--threads N]\n"
                 "       bench_compile_time MODEL [--layers N] [--threads N] [--dump DIR] "
                 "[--cache DIR]\n");
    return 1;
  }
  if (settings.model.empty()) return table(settings);
  Figures figures = measure(settings);
  figures["main at"] = main_at;
  std::printf("%s\n", nlohmann::json(figures).dump().c_str());
  return 0;
}
