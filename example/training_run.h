// The training loop of the model programs of this folder: options, printed figures, and files with
// which the same run can be repeated elsewhere (test/peer/examples.py repeats it in PyTorch).
//
//   PROGRAM [--steps N] [--autocast T] [--init FILE] [--record DIR] [--NAME VALUE]
//
//   --steps N      training steps
//   --autocast T   mixed precision: bf16 or f16
//   --init FILE    starts from this state_dict (safetensors) instead of drawn weights
//   --record DIR   writes into this folder, which exists:
//     init.safetensors, final.safetensors   the model's state_dict before and after the run
//     batches.safetensors                   inputs.K, input K of all steps [steps, ...]; lr and
//                                           loss, f64[steps]
//     figures.json                          compile_ms, step_ms, peak_bytes, ...
//     step.clv                              the traced graph of a step
//
//   TrainingRun run(argc, argv, {.steps = 200, .items = 32, .unit = "images"});
//   const int64_t width = run.number("--width", 64);       // an option of this program
//   ...
//   run.begin(model, step);
//   while (run.more()) run.step({x, y});
//   return run.end(0.5);
#pragma once
#include <cleave/cleave.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace example {

using namespace cleave;

class TrainingRun {
 public:
  struct About {
    int64_t steps = 100;  // where --steps doesn't say
    int64_t items = 1;    // that a step sees
    const char* unit = "items";
  };

  TrainingRun(int argc, char** argv, About about) : about_(about) {
    for (int i = 1; i < argc; i += 2) {
      if (std::strncmp(argv[i], "--", 2) != 0 || i + 1 == argc)
        fail(argv[i], "expected --NAME VALUE");
      options_[argv[i]] = argv[i + 1];
    }
    full_ = about.steps;
    about_.steps = number("--steps", about.steps);
    autocast_ = text("--autocast");
    if (!autocast_.empty() && autocast_ != "bf16" && autocast_ != "f16")
      fail("--autocast", "expected bf16 or f16");
    init_ = text("--init");
    record_ = text("--record");
  }

  int64_t number(const std::string& option, int64_t otherwise) {
    const std::string given = text(option);
    if (given.empty()) return otherwise;
    char* end = nullptr;
    const int64_t n = std::strtoll(given.c_str(), &end, 10);
    if (*end != 0 || n < 1) fail(option, "expected a number of at least 1");
    return n;
  }
  std::string text(const std::string& option) {
    const auto node = options_.extract(option);
    return node.empty() ? "" : node.mapped();
  }

  // For CompileOptions::autocast.
  std::optional<DType> autocast() const {
    if (autocast_.empty()) return std::nullopt;
    return autocast_ == "bf16" ? DType::bf16 : DType::f16;
  }

  void begin(const nn::Module& model, const TrainStep& step) {
    if (!options_.empty()) fail(options_.begin()->first, "there is no such option");
    model_ = model;
    step_ = step;
    if (!init_.empty()) load_weights(init_, model);
    if (!record_.empty()) save_weights(record_ + "/init.safetensors", model);
    const Report& r = step.report();
    std::printf("%lld parameters; compiled in %.0f ms: %lld nodes, %lld kernels\n",
                static_cast<long long>(model.parameter_count()), compile_ms(),
                static_cast<long long>(r.nodes), static_cast<long long>(r.kernels));
  }

  int64_t steps() const { return about_.steps; }
  int64_t done() const { return static_cast<int64_t>(losses_.size()); }
  bool more() const { return done() < about_.steps; }

  // One training step, in the order of the step's inputs.
  void step(std::initializer_list<InputRef> inputs) {
    if (!record_.empty()) keep(inputs);
    if (done() == 1) step_->watch_memory();
    const auto begin = std::chrono::steady_clock::now();
    const double loss = step_->run(inputs).loss;
    const std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - begin;
    if (done() == 1) peak_bytes_ = step_->measured_peak_bytes();
    if (done() % std::max<int64_t>(1, about_.steps / 10) == 0 || done() + 1 == about_.steps)
      std::printf("step %4lld  loss %.5f\n", static_cast<long long>(done()), loss);
    losses_.push_back(loss);
    step_ms_.push_back(ms.count());
  }

  // Prints the figures and writes the files. Returns the exit status: 0 if the loss has fallen to
  // `ratio` of the first one, or if there were too few steps for that.
  int end(double ratio) {
    std::vector<double> sorted = step_ms_;
    std::sort(sorted.begin(), sorted.end());
    const double ms = sorted[sorted.size() / 2];
    std::printf("%.2f ms a step, %.0f %s/s; planned peak %lld bytes, measured %lld\n", ms,
                1e3 * static_cast<double>(about_.items) / ms, about_.unit,
                static_cast<long long>(step_->report().planned_peak_bytes),
                static_cast<long long>(peak_bytes_));
    if (!record_.empty()) write(ms);
    double last = 0;  // the mean of the last steps: one batch is noisy
    const int64_t tail = std::max<int64_t>(1, done() / 10);
    for (int64_t i = done() - tail; i < done(); ++i) last += losses_[i] / static_cast<double>(tail);
    std::printf("loss %.4f -> %.4f\n", losses_[0], last);
    return done() < full_ || last < ratio * losses_[0] ? 0 : 1;
  }

 private:
  [[noreturn]] static void fail(const std::string& option, const char* what) {
    std::fprintf(stderr, "%s: %s\n", option.c_str(), what);
    std::exit(1);
  }
  double compile_ms() const { return step_->report().trace_ms + step_->report().compile_ms; }

  void keep(std::initializer_list<InputRef> inputs) {
    size_t k = 0;
    for (const InputRef& input : inputs) {
      const HostTensor& t = input.tensor();
      if (kept_.size() == k) {
        std::vector<int64_t> shape = t.shape();
        shape.insert(shape.begin(), about_.steps);
        kept_.emplace_back(t.dtype(), shape);
      }
      std::memcpy(static_cast<char*>(kept_[k++].data()) + done() * t.bytes(), t.data(),
                  static_cast<size_t>(t.bytes()));
    }
    rates_.push_back(step_->learning_rate());
  }

  void write(double ms) const {
    save_weights(record_ + "/final.safetensors", model_);
    Store store;
    const auto put = [&](const std::string& name, const HostTensor& value) {
      store.add(name, Variable(name, value));
    };
    for (size_t k = 0; k < kept_.size(); ++k) put("inputs." + std::to_string(k), kept_[k]);
    put("lr", HostTensor::from(rates_));
    put("loss", HostTensor::from(losses_));
    save_checkpoint(record_ + "/batches.safetensors", store);
    std::ofstream(record_ + "/step.clv") << step_->graph_text();
    const Report& r = step_->report();
    std::ofstream(record_ + "/figures.json")
        << "{\"compile_ms\": " << compile_ms() << ", \"step_ms\": " << ms
        << ", \"nodes\": " << r.nodes << ", \"kernels\": " << r.kernels
        << ", \"planned_peak_bytes\": " << r.planned_peak_bytes
        << ", \"peak_bytes\": " << peak_bytes_ << "}\n";
  }

  About about_;
  int64_t full_ = 0;
  std::map<std::string, std::string> options_;
  std::string autocast_, init_, record_;
  nn::Module model_;
  std::optional<TrainStep> step_;
  std::vector<double> losses_, step_ms_, rates_;
  std::vector<HostTensor> kept_;
  int64_t peak_bytes_ = 0;
};

}  // namespace example
