// Traces a training step; with TrainOptions::accumulate = k, its two programs:
//
//   whole       loss = f(inputs), [autocast], gradients, [their scale], [clipping], optimizer,
//               [averages], [the next scale]; returns loss, the other results of f, [gradient
//               norm], [scale, skipped steps], [guard], [what is watched], updates
//   gathering   the first k - 1 micro steps: f, and gradients of [scale] loss / k, which are added
//               to optimizer.accumulated.* as updates
//   stepping    the last micro step: whole, with the sums of all k as gradients; resets the sums
//
// With TrainOptions::on_nonfinite, the run fails at the guard, before any update, unless the loss
// and the norm of the gradients (gathering: of their sums) are finite; where the loss is scaled
// (train/loss_scale.h), unless the loss is.
//
// optimizer.micro_step counts the micro steps since the last optimizer step.
#pragma once
#include "cleave/train.h"
#include "exec/sized_programs.h"
#include "exec/watch.h"
#include "train/loss_scale.h"

namespace cleave {

// The text of the guard's failure.
constexpr std::string_view not_finite = "train_step: the loss or a gradient is not finite";

enum class StepPart : uint8_t { whole, gathering, stepping };

struct StepTrace {
  const nn::Module& model;
  const TracedFunction& loss_function;
  const optim::Optimizer& optimizer;
  const std::vector<InputSpec>& specs;
  const TrainOptions& options;
  Location at;
  StepPart part = StepPart::whole;
  Store store = {};

  trace::RecordingPtr recording = {};
  std::vector<ValueId> inputs = {};
  std::vector<ValueId> learning_rates = {};
  std::vector<Variable> rates = {};  // of the store, in the same order
  Variable step = {}, micro_step = {};
  Tensors results = {};
  Tensor norm = {}, guard = {};
  LossScale scale = {};       // before the step; undefined where the loss isn't scaled
  Tensor found = {};          // whether a gradient is inf or nan: the step is skipped
  Tensor skipped_steps = {};  // this one included
  Values checked = {};  // what the guard looks at: the loss, the gradients or sums, their norm
  Watch watch{options.compile.watch};
  std::vector<std::pair<std::string, Variable>> trained = {};  // that the loss depends on
  Tensors grads = {};
  std::vector<std::pair<Variable, Variable>> averages = {};  // parameter, its average
  Report front = {};                                         // of autocast and pre_grad

  ~StepTrace() {
    if (recording) recording->abandon();
  }

  // Traces everything; close() then returns the graph.
  void record();
  Graph close();

  // Positions in what the graph returns, from close() on.
  std::optional<size_t> norm_at = {}, scale_at = {}, skipped_at = {};
  std::map<std::string, size_t> watched_at = {};

 private:
  void declare();
  void declare_frozen();
  void rewrite_recorded();
  void differentiate();
  Tensor cotangent() const;
  void watch_gradients(const std::vector<std::string>& names, const Values& gradients);
  void gather();
  void unscale();
  void clip();
  Tensor check_finite(const Tensors& tensors, const Tensor& norm);
  void optimize();
  void average();
  void hold_skipped(size_t first_update);
  void write_scale();
  Variable kept(const std::string& name, const HostTensor& initial, VariableKind kind) const;
  Tensor read(const Variable& v, const std::string& name) const;
  void write(const Variable& v, const std::string& name, const Tensor& next) const;
};

}  // namespace cleave
