// The effect of the passes on the training steps of bench/models/step_models.h.
//
//   bench_pass_effect [MODEL ...] [--seconds 2] [--each]
//
// Of each model with all passes and with none: nodes after the passes, kernels, bytes that a step
// moves, planned peak, milliseconds of a step (the median). Then a row for each pass that matched:
// its matches and its time, and with --each the differences when only that pass is left out. The
// two programs run alternately; a step's factor is the median over the turns, since the speed of a
// shared machine changes more slowly than that.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "bench/models/step_models.h"
#include "bench/timing.h"

namespace {

using namespace cleave;

struct Settings {
  std::vector<std::string> models;
  double seconds = 2;
  bool each = false;
};

double median(std::vector<double> of) {
  std::ranges::nth_element(of, of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2));
  return of[of.size() / 2];
}

// A model's step under some options, and how long its runs took.
class Step {
 public:
  Step(const std::string& model, std::vector<std::string> off)
      : model_(bench::make_step_model(model)),
        step_(train_step(
            *model_.module, model_.loss, optim::AdamW({.lr = 1e-4}), model_.specs,
            {.compile = {.passes_off = std::move(off)}, .clip_norm = model_.clip_norm})) {
    for (int k = 0; k < 2; ++k) run();
    ms_.clear();
  }

  double run() {
    const auto begin = bench::Clock::now();
    step_.run({model_.inputs[0], model_.inputs[1]});
    return ms_.emplace_back(bench::ms_since(begin));
  }
  double median_ms() const { return median(ms_); }
  double bytes() {
    step_.profile_kernels(true);
    step_.run({model_.inputs[0], model_.inputs[1]});
    double sum = 0;
    for (const StepTime& t : step_.step_times()) sum += static_cast<double>(t.bytes);
    step_.profile_kernels(false);
    return sum;
  }
  const Report& report() const { return step_.report(); }

 private:
  bench::StepModel model_;
  TrainStep step_;
  std::vector<double> ms_;
};

// Runs a and b alternately, so that both have the same conditions. Returns the time of a / that of
// b.
double run_both(Step& a, Step& b, double seconds) {
  std::vector<double> factors;
  const auto begin = bench::Clock::now();
  while (factors.size() < 7 || bench::ms_since(begin) < 1e3 * seconds) {
    const double ms = a.run();
    factors.push_back(ms / b.run());
  }
  return median(std::move(factors));
}

int64_t fused_nodes(const Report& r) {
  for (const CompileStage& s : r.stages)
    if (s.name == "fuse") return static_cast<int64_t>(s.nodes);
  return 0;
}

void print_step(const char* title, Step& s) {
  std::printf("  %-24s %8lld nodes %6lld kernels %10.2f MB moved %9.2f MB peak %9.3f ms\n", title,
              static_cast<long long>(fused_nodes(s.report())),
              static_cast<long long>(s.report().kernels), s.bytes() / 1e6,
              static_cast<double>(s.report().planned_peak_bytes) / 1e6, s.median_ms());
}

void print_difference(Step& without, Step& with, double factor) {
  const Report &a = without.report(), &b = with.report();
  std::printf("  without it: %+lld kernels %+.2f MB moved %+.2f MB peak, step x %.3f",
              static_cast<long long>(a.kernels - b.kernels), (without.bytes() - with.bytes()) / 1e6,
              static_cast<double>(a.planned_peak_bytes - b.planned_peak_bytes) / 1e6, factor);
}

void measure(const std::string& model, const Settings& settings) {
  Step on(model, {}), off(model, {"all"});
  const double factor = run_both(off, on, settings.seconds);
  std::printf("%s: without passes a step takes %.3f times as long\n", model.c_str(), factor);
  print_step("all passes", on);
  print_step("no pass", off);
  for (const CompilePass& p : on.report().passes) {
    if (p.matches == 0) continue;
    std::printf("  %-24s %6lld matches %7.3f ms", p.name.c_str(), static_cast<long long>(p.matches),
                p.ms);
    if (settings.each) {
      Step without(model, {p.name});
      print_difference(without, on, run_both(without, on, settings.seconds / 2));
    }
    std::printf("\n");
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  for (int k = 1; k < argc; ++k) {
    const std::string_view word = argv[k];
    if (word == "--seconds" && k + 1 < argc)
      settings.seconds = std::atof(argv[++k]);
    else if (word == "--each")
      settings.each = true;
    else
      settings.models.emplace_back(word);
  }
  try {
    if (settings.models.empty()) settings.models = bench::step_model_names();
    for (const std::string& model : settings.models) measure(model, settings);
  } catch (const Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
