// The mean loss over the held-out part of a run's data.
#pragma once
#include <optional>

#include "cleave/train.h"
#include "tool/train/run_data.h"
#include "tool/train/run_model.h"

namespace cleave::tool {

class Validation {
 public:
  Validation(const RunModel& model, RunData& data, CompileOptions options)
      : model_(model), data_(data), options_(std::move(options)) {}

  // The program is compiled by the first call, and reads the parameters as they are. nullopt: a
  // signal came before the end.
  std::optional<double> mean_loss();

 private:
  const RunModel& model_;
  RunData& data_;
  CompileOptions options_;
  CompiledFunction program_;
  bool is_compiled_ = false;
};

}  // namespace cleave::tool
