// How the programs of a run are compiled: of the training step, and of validation and samples.
#pragma once
#include "cleave/optim.h"
#include "tool/train/arguments.h"

namespace cleave::tool {

// Of the step; the other programs take none of its budget, dump and cache. Errors (user): a value
// that an option doesn't have; (unsupported) a target or device that this machine can't run.
Result<CompileOptions> compile_options(const TrainArguments& o);
Result<TrainOptions> step_options(const TrainArguments& o, const CompileOptions& compile);
// Of programs without gradients.
CompileOptions evaluation_options(const CompileOptions& of_step);

optim::AdamW adamw(const TrainArguments& o);
// Of the optimizer in this step, counted from 0.
double learning_rate(const TrainArguments& o, int64_t step);

// For errors in the model's program: they name no source line, which would be one of the command.
constexpr Location no_line{};

}  // namespace cleave::tool
