// compile(): compiles a function of Tensors for inference.
#include <chrono>

#include "cleave/train.h"
#include "compile/stages.h"
#include "exec/bound_program.h"
#include "ir/text.h"

namespace cleave {

struct CompiledFunction::State {
  std::unique_ptr<BoundProgram> program;
  Operators ops;  // owns the graph's operators
  size_t results = 0;
};

namespace {

std::shared_ptr<CompiledFunction::State> compiled(const nn::Module* model,
                                                  const TracedFunction& function,
                                                  const std::vector<InputSpec>& inputs,
                                                  const CompileOptions& options, Location at) {
  const auto start = std::chrono::steady_clock::now();
  const trace::RecordingPtr recording = trace::Recording::program(
      options.ops.registry(), trace::Mode::evaluation, "compile", model == nullptr);
  if (options.autocast) recording->set_autocast();
  if (model != nullptr) declare_model(*recording, *model);
  const std::vector<ValueId> values = declare_inputs(*recording, inputs, at);
  const Tensors results = run_traced(function, recording, values, at);

  std::vector<Return> returns;
  for (const Tensor& t : results) returns.push_back({recording->value_of(t, at)});
  for (const auto& u : recording->updates())
    returns.push_back({u.placeholder, ReturnKind::update, recording->leaf(u.variable, at)});
  recording->graph().set_returns(std::move(returns));
  Report report;
  Status rewritten = run_stages(Stage::autocast, Stage::pre_grad, recording->graph(),
                                recording->ops(), {options}, &report);
  if (!rewritten.ok()) trace::throw_at(at, std::move(rewritten).failure().within("compile"));
  drop_unused(recording->graph(), values);

  auto state = std::make_shared<CompiledFunction::State>();
  state->ops = options.ops;
  state->results = results.size();
  BoundProgram::Parts parts;
  parts.graph = recording->close();
  parts.variables = recording->bound();
  parts.inputs = values;
  parts.specs = inputs;
  parts.passes = std::move(report.passes);
  const double trace_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  state->program =
      trace::value_or_throw_at(at, BoundProgram::make(std::move(parts), "compile", options));
  state->program->report().trace_ms = trace_ms;
  state->program->report().warnings = recording->warnings();
  return state;
}

}  // namespace

CompiledFunction compile(const nn::Module& model, const TracedFunction& function,
                         const std::vector<InputSpec>& inputs, const CompileOptions& options,
                         Location at) {
  return CompiledFunction(compiled(&model, function, inputs, options, at));
}

CompiledFunction compile(const TracedFunction& function, const std::vector<InputSpec>& inputs,
                         const CompileOptions& options, Location at) {
  return CompiledFunction(compiled(nullptr, function, inputs, options, at));
}

CompiledFunction::State& CompiledFunction::state() const {
  if (!state_) throw_failure(user_error("CompiledFunction: it is empty; compile() makes one"));
  return *state_;
}

void CompiledFunction::run_in_place(std::span<const InputRef> inputs) {
  value_or_throw(state().program->run(inputs));
}

HostTensors CompiledFunction::run(std::span<const InputRef> inputs) {
  run_in_place(inputs);
  HostTensors out;
  for (size_t k = 0; k < state().results; ++k) out.push_back(output(k));
  return out;
}

HostTensors CompiledFunction::run_named(std::span<const NamedInput> inputs) {
  return run(value_or_throw(state().program->in_order(inputs)));
}

HostTensor CompiledFunction::output_view(size_t k) const {
  if (k >= state().results)
    throw_failure(user_error("compile: output {} is outside [0, {})", k, state().results));
  return state().program->result(k, state_);
}

HostTensor CompiledFunction::output(size_t k) const {
  const HostTensor view = output_view(k);
  return HostTensor(view);  // a copy, which owns its memory
}

const Report& CompiledFunction::report() const { return state().program->report(); }
std::string CompiledFunction::graph_text() const { return print(state().program->traced()); }

}  // namespace cleave
