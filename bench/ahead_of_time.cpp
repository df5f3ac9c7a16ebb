// A training step of a library that build() made, beside the same step in this process.
//
//   bench_ahead_of_time [--seconds 3] [--threads 0] [MODEL ...]      rows; of bench/models/
//
//   step_ms, library_ms   medians of steps that alternate between the two, after three of each
//   ratio                 the median of library_ms / step_ms, pair by pair
//   beside_mib            of the library, beside code and weights
//   build_ms, open_ms     build() with weights inside; NAME_open()
// The losses are compared, bit for bit.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "bench/models/step_models.h"
#include "bench/timing.h"
#include "standalone/interface.h"

namespace {

using namespace cleave;
using bench::Clock;
using bench::ms_since;

struct Settings {
  std::vector<std::string> models;
  double seconds = 3;
  int threads = 0;
};

template <class F>
F* function_of(void* library, const char* name) {
  return reinterpret_cast<F*>(dlsym(library, name));
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "bench_ahead_of_time: %s\n", what.c_str());
  std::exit(1);
}

void measure(const std::string& name, const Settings& settings) {
  const bench::StepModel model = bench::make_step_model(name);
  TrainOptions options{.clip_norm = model.clip_norm};
  options.compile.threads = settings.threads;
  TrainStep step =
      train_step(*model.module, model.loss, optim::AdamW({.lr = 1e-4}), model.specs, options);
  const auto folder = std::filesystem::temp_directory_path() / "cleave_bench_ahead";
  std::filesystem::create_directories(folder);
  auto at = Clock::now();
  const BuiltLibrary built = build(step, folder / "step.so");
  const double build_ms = ms_since(at);
  void* const library = dlopen(built.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) fail(dlerror());
  cleave_error error{};
  cleave_options open_options = CLEAVE_OPTIONS_INIT(0);
  open_options.threads = settings.threads;
  at = Clock::now();
  cleave_instance* const instance =
      function_of<cleave_instance*(const cleave_options*, cleave_error*)>(library, "step_open")(
          &open_options, &error);
  const double open_ms = ms_since(at);
  if (instance == nullptr) fail(error.message);
  auto* const run =
      function_of<int(cleave_instance*, const cleave_tensor*, size_t, const cleave_tensor*, size_t,
                      cleave_error*)>(library, "step_run");
  auto* const result = function_of<int(cleave_instance*, size_t, cleave_tensor*, cleave_error*)>(
      library, "step_result");
  std::vector<InputRef> refs;
  std::vector<cleave_tensor> in;
  for (const HostTensor& t : model.inputs) {
    refs.emplace_back(t);
    in.push_back({const_cast<void*>(t.data()), static_cast<int32_t>(t.dtype()),
                  static_cast<int32_t>(t.rank()), t.shape().data(), nullptr});
  }
  std::vector<double> here, there, ratios;
  double sum = 0;
  for (int k = 0; k < 5000 && (k < 12 || sum < 1e3 * settings.seconds); ++k) {
    at = Clock::now();
    const auto loss = static_cast<float>(step.run(refs).loss);
    const double mine = ms_since(at);
    at = Clock::now();
    const int code = run(instance, in.data(), in.size(), nullptr, 0, &error);
    const double other = ms_since(at);
    cleave_tensor got{};
    if (code != CLEAVE_DONE || result(instance, 0, &got, &error) != CLEAVE_DONE)
      fail(error.message);
    if (std::memcmp(got.data, &loss, sizeof(loss)) != 0) fail(name + ": another loss");
    if (k < 3) continue;
    here.push_back(mine);
    there.push_back(other);
    ratios.push_back(other / mine);
    sum += mine + other;
  }
  std::printf("%-16s %10.3f %12.3f %8.3f %8zu %12.2f %10.0f %9.1f\n", name.c_str(), median(here),
              median(there), median(ratios), ratios.size(),
              static_cast<double>(built.bytes - built.code_bytes - built.weight_bytes) / (1 << 20),
              build_ms, open_ms);
  function_of<void(cleave_instance*)>(library, "step_close")(instance);
  dlclose(library);
  std::filesystem::remove_all(folder);
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    if (word == "--seconds" && k + 1 < argc)
      settings.seconds = std::atof(argv[++k]);
    else if (word == "--threads" && k + 1 < argc)
      settings.threads = std::atoi(argv[++k]);
    else
      settings.models.push_back(word);
  }
  if (settings.models.empty()) settings.models = {"mlp", "chargpt_small", "chargpt"};
  std::printf("%-16s %10s %12s %8s %8s %12s %10s %9s\n", "model", "step_ms", "library_ms", "ratio",
              "pairs", "beside_mib", "build_ms", "open_ms");
  for (const std::string& name : settings.models) measure(name, settings);
}
