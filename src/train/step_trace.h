// A training step while it is traced:
//
//   whole       loss = f(inputs)  [autocast]  gradients  [clip]  optimizer  [averages]
//               returns loss, ..., [norm], updates
//   gathering   with accumulate = k, the first k - 1 runs: f, gradients of loss / k added to
//               optimizer.accumulated.*, which are updates
//   stepping    the last run: whole, with the sums in the place of the gradients; the sums are 0
//               again
//
// optimizer.micro_step counts the runs since the last step.
#pragma once
#include "cleave/train.h"
#include "exec/bound_program.h"

namespace cleave {

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
  Variable step = {}, micro_step = {};
  Tensors results = {};
  Tensor norm = {};
  std::vector<std::pair<std::string, Variable>> trained = {};  // that the loss depends on
  Tensors grads = {};
  std::vector<std::pair<Variable, Variable>> averages = {};  // parameter, its average
  std::vector<CompilePass> passes = {};                      // of pre_grad

  // Everything; close() then gives the graph.
  void record();
  Graph close();

 private:
  void declare();
  void rewrite_recorded();
  void differentiate();
  void gather();
  void clip();
  void optimize();
  void average();
  Variable kept(const std::string& name, const HostTensor& initial, VariableKind kind) const;
  Tensor read(const Variable& v, const std::string& name) const;
  void write(const Variable& v, const std::string& name, const Tensor& next) const;
};

}  // namespace cleave
