// The loop of a run of `cleave train`, over any model and data.
//
//   compile ─► resume ─► for each step: K runs, report, validate, checkpoint ─► validate
//                        signal: checkpoint, then the end (status 128 + its number)
#pragma once
#include "tool/train/run_data.h"
#include "tool/train/run_files.h"
#include "tool/train/run_model.h"
#include "tool/train/run_report.h"
#include "tool/train/validation.h"

namespace cleave::tool {

class Trainer {
 public:
  // What it is given has to outlive it.
  Trainer(TrainArguments& o, CompileOptions compile, const RunModel& model, RunData& data);

  // Trains and validates. Throws Interrupted after a signal, when its files are written. Errors: of
  // the compilation, named after --budget where that is given; a loss that isn't finite; files.
  Status run();
  // After run(), of programs that read the model.
  const CompileOptions& evaluation() const { return evaluation_; }

 private:
  Status compile_step();
  Status steps();
  // The K runs of a step; the mean of their losses.
  double run_batches(int64_t step, bool is_measured);
  Status validate_at(int64_t step);
  Status interrupt(int64_t done);
  int64_t skipped_steps() const;
  bool scales_loss() const;
  std::optional<std::pair<double, int64_t>> scale_of_step() const;

  TrainArguments& o_;  // whose trace it writes to
  const RunModel& model_;
  RunData& data_;
  CompileOptions compile_, evaluation_;
  RunFiles files_;
  Validation validation_;
  std::optional<RunReport> report_;  // from run() on
  TrainStep step_;
  StepResult result_;  // of the last run
  int64_t units_per_step_;
  double seconds_ = 0;
  int64_t peak_bytes_ = 0, allocations_ = 0;
};

}  // namespace cleave::tool
