// What a run prints: lines and a progress line for people, or JSON, one object a line.
//
//   {"step": 7, "loss": 2.1, "tokens_per_s": 9000, ...}     after each step
//   {"step": 9, "val_loss": 2.2}                            after each validation between steps
//   {"val_loss": 2.0, "compile_ms": 800, ...}               at the end
//
// A model run adds lr, grad_norm, tokens and seconds; a model of images counts images instead.
#pragma once
#include "cleave/progress.h"
#include "cleave/report.h"
#include "tool/train/arguments.h"
#include "tool/train/run_data.h"
#include "tool/train/run_model.h"

namespace cleave::tool {

struct StepFigures {
  int64_t step = 0;
  double loss = 0, lr = 0, grad_norm = 0;
  double units_per_s = 0, seconds = 0;                   // since this process began to train
  int64_t units = 0;                                     // of all steps up to this one
  int64_t peak_bytes = 0;                                // 0: not yet known
  std::optional<std::pair<double, int64_t>> scale = {};  // of the loss, and skipped steps
};

struct RunFigures {
  double val_loss = 0, seconds = 0;
  int64_t units = 0, steps = 0;
  int64_t peak_bytes = 0, allocations = 0;
  std::optional<std::pair<double, int64_t>> scale = {};
};

class RunReport {
 public:
  RunReport(const TrainArguments& o, const RunModel& model, int64_t first_step);

  // Before the first step.
  void describe(const RunData& data, const Report& compiled) const;
  // Errors (user) of all: stdout can't be written.
  Status step(const StepFigures& f);
  Status held_out(int64_t step, double loss);
  Status finish(const RunFigures& f, const Report& compiled);
  // Without the progress line, before other output.
  void clear() { progress_.clear(); }

 private:
  const TrainArguments& o_;
  const RunModel& model_;
  ProgressLine progress_;
};

}  // namespace cleave::tool
