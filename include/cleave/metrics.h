// Figures of a run: means over batches, accuracy, when to stop, and files of scalars.
//
//   RunningMean loss;
//   EarlyStopping stopping({.patience = 5});
//   ScalarLog log = ScalarLog::tensorboard("runs/a");
//   for (...) {
//     loss.add(result.loss, batch_size);
//     log.add(step, "train/loss", result.loss);
//   }
//   if (stopping.should_stop(validation_loss)) break;
#pragma once
#include <memory>
#include <string>

#include "cleave/host_tensor.h"

namespace cleave {

class RunningMean {
 public:
  void add(double value, double weight = 1) {
    sum_ += value * weight;
    weight_ += weight;
  }
  // NaN before the first value.
  double value() const { return sum_ / weight_; }
  double weight() const { return weight_; }
  void reset() { *this = {}; }

 private:
  double sum_ = 0, weight_ = 0;
};

// The share of rows of scores [rows, classes] whose class, of classes [rows] (integers), is among
// the `top` highest scores; of equal scores the first class counts as higher. 0 rows give NaN.
// Errors (user): other ranks or sizes, a class outside [0, classes), top outside [1, classes].
CLEAVE_API double accuracy(const HostTensor& scores, const HostTensor& classes, int64_t top = 1);

// Stops when a figure has not become better for a while.
class EarlyStopping {
 public:
  struct Options {
    int64_t patience = 10;  // calls without a better value, after which it stops
    double min_delta = 0;   // by which a better value is better
    bool maximize = false;  // higher values are better
  };
  EarlyStopping() = default;
  explicit EarlyStopping(const Options& options) : options_(options) {}

  // After each validation. NaN is never better.
  bool should_stop(double value) {
    const double gain = options_.maximize ? value - best_ : best_ - value;
    is_best_ = !has_best_ ? value == value : gain > options_.min_delta;
    calls_without_ = is_best_ ? 0 : calls_without_ + 1;
    if (is_best_) best_ = value, has_best_ = true;
    return calls_without_ >= options_.patience;
  }
  bool is_best() const { return is_best_; }  // the last value: the moment for a checkpoint
  double best() const { return best_; }

 private:
  Options options_;
  double best_ = 0;
  int64_t calls_without_ = 0;
  bool has_best_ = false, is_best_ = false;
};

// Scalars by step, in a file.
class CLEAVE_API ScalarLog {
 public:
  // A text file of lines "step,name,value"; lines are added to one that is there. A name with a
  // comma, a quote or an end of line stands in quotes.
  static ScalarLog csv(const std::string& path);
  // A new event file in the folder, which is made if needed: for `tensorboard --logdir FOLDER`.
  static ScalarLog tensorboard(const std::string& folder);
  ScalarLog(ScalarLog&&) noexcept;
  ScalarLog& operator=(ScalarLog&&) noexcept;
  ~ScalarLog();

  // Written at once. Error (user): the file can't be written.
  void add(int64_t step, const std::string& name, double value);

 private:
  struct State;
  explicit ScalarLog(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace cleave
