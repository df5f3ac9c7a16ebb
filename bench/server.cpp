// Many threads that answer requests with one model: requests a second and memory, with an instance
// for each thread, with a compiled copy for each, and with copies that have threads of their own.
//
//   bench_server [--threads 20] [--seconds 2] [--rows 8] [--width 512]        the table
//   bench_server WAY ...                                one figure in this process, as JSON
//
//   instances   CompiledFunction::instance(): one compilation, one thread pool
//   copies      compile() for each thread; one thread pool
//   own pools   compile() for each thread, each with make_thread_pool()
//
// `one caller` is the requests a second of one thread that has the machine for itself. The model is
// four times Linear, LayerNorm, GELU. Each way runs in a fresh process.
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "bench/resident.h"
#include "bench/timing.h"
#include "cleave/cleave.h"

namespace {

using namespace cleave;
using nlohmann::json;

struct Settings {
  std::string way;
  int threads = 20;
  double seconds = 2;
  int64_t rows = 8, width = 512;
};
constexpr const char* ways[] = {"instances", "copies", "own pools"};

nn::Sequential model_of(int64_t width) {
  Generator rng(1);
  nn::Sequential model;
  for (int i = 0; i < 4; ++i) {
    model.push_back(nn::Linear(width, width, rng));
    model.push_back(nn::LayerNorm({width}));
    model.push_back(nn::GELU());
  }
  return model;
}

// Requests a second of these functions, each on a thread of its own.
double requests_a_second(std::vector<CompiledFunction>& functions, const Settings& s) {
  std::atomic<int64_t> requests = 0;
  const HostTensor x = Generator(2).normal({s.rows, s.width});
  const auto begin = bench::Clock::now();
  {
    std::vector<std::jthread> threads;
    for (CompiledFunction& f : functions)
      threads.emplace_back([&] {
        int64_t own = 0;
        for (; bench::ms_since(begin) < s.seconds * 1e3; ++own) f.run({x});
        requests += own;
      });
  }
  return static_cast<double>(requests) / (bench::ms_since(begin) / 1e3);
}

json measure(const Settings& s) {
  const nn::Sequential model = model_of(s.width);
  const auto compiled = [&] {
    CompileOptions options;
    if (s.way == "own pools") options.executor = make_thread_pool();
    return compile(
        model, [&](const Tensor& x) { return model(x); }, {{"x", DType::f32, {s.rows, s.width}}},
        options);
  };
  std::vector<CompiledFunction> all = {compiled()};
  const double alone = requests_a_second(all, s);
  const int64_t before = bench::resident_bytes("VmRSS");
  const auto begin = bench::Clock::now();
  for (int i = 1; i < s.threads; ++i)
    all.push_back(s.way == "instances" ? all[0].instance() : compiled());
  const double each_us = bench::ms_since(begin) * 1e3 / std::max(s.threads - 1, 1);
  const double together = requests_a_second(all, s);
  const auto more = static_cast<double>(bench::resident_bytes("VmRSS") - before);
  return {{"way", s.way},
          {"compile_ms", all[0].report().compile_ms},
          {"each_us", each_us},
          {"alone", alone},
          {"together", together},
          {"more_mb", more / 1e6},
          {"arena_bytes", all[0].report().arena_bytes}};
}

// The figures of one process.
std::optional<json> run_alone(const Settings& s, const std::string& program) {
  const std::string command = program + " '" + s.way + "' --threads " + std::to_string(s.threads) +
                              " --seconds " + std::to_string(s.seconds) + " --rows " +
                              std::to_string(s.rows) + " --width " + std::to_string(s.width);
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return std::nullopt;
  std::string text;
  char part[4096];
  for (size_t n; (n = fread(part, 1, sizeof part, pipe)) > 0;) text.append(part, n);
  if (pclose(pipe) != 0) return std::nullopt;
  return json::parse(text);
}

// False if the arguments aren't valid.
bool read(int argc, char** argv, Settings& out) {
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    const bool has_value = k + 1 < argc;
    if (word == "--threads" && has_value)
      out.threads = std::atoi(argv[++k]);
    else if (word == "--seconds" && has_value)
      out.seconds = std::atof(argv[++k]);
    else if (word == "--rows" && has_value)
      out.rows = std::atol(argv[++k]);
    else if (word == "--width" && has_value)
      out.width = std::atol(argv[++k]);
    else if (std::ranges::find(ways, word) != std::end(ways))
      out.way = word;
    else
      return false;
  }
  return out.threads > 0 && out.seconds > 0 && out.rows > 0 && out.width > 0;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  if (!read(argc, argv, settings)) {
    std::fprintf(stderr,
                 "usage: bench_server [instances|copies|'own pools'] [--threads N] [--seconds S] "
                 "[--rows R] [--width W]\n");
    return 1;
  }
  if (!settings.way.empty()) {
    std::printf("%s\n", measure(settings).dump().c_str());
    return 0;
  }
  std::printf("%d threads, requests of %ld rows of %ld\n", settings.threads, settings.rows,
              settings.width);
  std::printf("%-10s %12s %16s %16s %12s %10s\n", "", "compile ms", "one more, us", "one caller/s",
              "all/s", "more MB");
  for (const char* way : ways) {
    settings.way = way;
    const std::optional<json> row = run_alone(settings, argv[0]);
    if (!row) return 1;
    std::printf("%-10s %12.1f %16.1f %16.0f %12.0f %10.1f\n", way,
                (*row)["compile_ms"].get<double>(), (*row)["each_us"].get<double>(),
                (*row)["alone"].get<double>(), (*row)["together"].get<double>(),
                (*row)["more_mb"].get<double>());
  }
  return 0;
}
