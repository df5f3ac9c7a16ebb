// compile(): compiles a function of Tensors for inference.
#include <chrono>

#include "cleave/train.h"
#include "compile/stages.h"
#include "exec/program_access.h"
#include "exec/watch.h"
#include "ir/text.h"

namespace cleave {

const HostTensor& InputRef::tensor() const {
  if (!device_.is_cpu())
    throw_failure(user_error("an input is {} on {}, expected a tensor of the host",
                             tensor_->type_text(), device_.text()));
  return *tensor_;
}

struct CompiledFunction::State {
  std::unique_ptr<SizedPrograms> programs;
  std::shared_ptr<FoldedPool> folded;  // null unless it is frozen
  bool has_results = false;            // of the last run
};

namespace {

// Traces it for static specs.
ProgramCode::Parts traced(const nn::Module* model, const TracedFunction& function,
                          const std::vector<InputSpec>& inputs, const CompileOptions& options,
                          const std::shared_ptr<FoldedPool>& folded, Location at) {
  const auto start = std::chrono::steady_clock::now();
  const trace::RecordingPtr recording = trace::Recording::program(
      options.ops.registry(), trace::Mode::evaluation, "compile", model == nullptr);
  const trace::AbandonAtEnd over{*recording};
  if (options.autocast) recording->set_autocast();
  if (model != nullptr) declare_model(*recording, *model);
  const std::vector<ValueId> values = declare_inputs(*recording, inputs, at);
  const Tensors results = run_traced(function, recording, values, at);

  std::vector<Return> returns;
  for (const Tensor& t : results) returns.push_back({recording->value_of(t, at)});
  for (const auto& u : recording->updates()) {
    if (options.freeze && recording->graph().placeholder_of(u.target)->role == Role::param)
      trace::refuse(at, "compile: freeze: the function assigns parameter `{}`",
                    recording->graph().name(u.target));
    returns.push_back({u.next, ReturnKind::update, u.target});
  }
  Watch watch(options.watch);
  watch.find(recording->graph());
  const size_t first_watched = returns.size();
  watch.add_returns(returns);
  recording->graph().set_returns(std::move(returns));
  Report report;
  Status rewritten = run_stages(Stage::autocast, Stage::pre_grad, recording->graph(),
                                recording->ops(), {options}, &report);
  if (!rewritten.ok()) trace::throw_at(at, std::move(rewritten).failure().within("compile"));
  size_t next = first_watched;
  watch.take_returns(recording->graph(), next);
  watch.find(recording->graph());  // what passes have made
  trace::value_or_throw_at(at, watch.require_all(recording->graph()));
  returns = recording->graph().returns();
  returns.resize(first_watched);
  watch.add_returns(returns);
  recording->graph().set_returns(std::move(returns));
  drop_unused(recording->graph(), values);

  ProgramCode::Parts parts;
  parts.options = options;
  parts.marks.watched_at = watch.positions(first_watched);
  parts.graph = recording->close();
  parts.variables = recording->bound();
  parts.inputs = values;
  parts.specs = inputs;
  parts.results = results.size();
  parts.front = std::move(report);
  parts.trace_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  parts.front.warnings = recording->warnings();
  parts.folded = folded;
  return parts;
}

std::shared_ptr<CompiledFunction::State> compiled(std::optional<nn::Module> model,
                                                  const TracedFunction& function,
                                                  const std::vector<InputSpec>& inputs,
                                                  const CompileOptions& options, Location at) {
  if (options.threads < 0)
    trace::refuse(at, "compile: threads is {}, expected 0 or more", options.threads);
  auto state = std::make_shared<CompiledFunction::State>();
  if (options.freeze) state->folded = std::make_shared<FoldedPool>();
  auto trace = [=, folded = state->folded](const std::vector<InputSpec>& specs,
                                           const CompileOptions& own) {
    return traced(model ? &*model : nullptr, function, specs, own, folded, at);
  };
  state->programs = SizedPrograms::make(
      "compile", inputs, options, std::make_shared<Notices>(options.log), std::move(trace), at);
  return state;
}

}  // namespace

CompiledFunction compile(const nn::Module& model, const TracedFunction& function,
                         const std::vector<InputSpec>& inputs, const CompileOptions& options,
                         Location at) {
  return CompiledFunction(compiled(model, function, inputs, options, at));
}

CompiledFunction compile(const TracedFunction& function, const std::vector<InputSpec>& inputs,
                         const CompileOptions& options, Location at) {
  return CompiledFunction(compiled(std::nullopt, function, inputs, options, at));
}

CompiledFunction::State& CompiledFunction::state() const {
  if (!state_) throw_failure(user_error("CompiledFunction: it is empty; compile() makes one"));
  return *state_;
}

const SizedPrograms& ProgramAccess::programs(const CompiledFunction& f) {
  return *f.state().programs;
}

void CompiledFunction::run_in_place(std::span<const InputRef> inputs) {
  State& s = state();
  s.has_results = false;
  value_or_throw(s.programs->run(inputs));
  s.has_results = true;
}

HostTensors CompiledFunction::run(std::span<const InputRef> inputs) {
  run_in_place(inputs);
  return outputs();
}

HostTensors CompiledFunction::run(HostTensors&& inputs) {
  State& s = state();
  s.has_results = false;
  value_or_throw(s.programs->run_boxed(std::move(inputs)));
  s.has_results = true;
  return outputs();
}

HostTensors CompiledFunction::outputs() const {
  HostTensors out;
  for (size_t k = 0; k < state().programs->results(); ++k) out.push_back(output(k));
  return out;
}

HostTensors CompiledFunction::run_named(std::span<const NamedInput> inputs) {
  return run(value_or_throw(state().programs->sizes().in_order(inputs)));
}

namespace {

void require_results(const CompiledFunction::State& s) {
  if (!s.has_results)
    throw_failure(
        user_error("compile: it has no outputs: it did not run yet, or the last run "
                   "failed"));
}

void require_output(const CompiledFunction::State& s, size_t k) {
  const size_t results = s.programs->results();
  if (k >= results) throw_failure(user_error("compile: output {} is outside [0, {})", k, results));
  require_results(s);
}

}  // namespace

HostTensor CompiledFunction::output_view(size_t k) const {
  require_output(state(), k);
  return state().programs->result(k);
}

DeviceTensor CompiledFunction::output_there(size_t k) const {
  require_output(state(), k);
  return state().programs->result_there(k);
}

HostTensor CompiledFunction::value(const std::string& name) const {
  const BoundProgram& program = state().programs->last();
  const size_t k = value_or_throw(watched_position("compile", program.marks().watched_at, name));
  require_results(state());
  const HostTensor view = program.result(k);
  return HostTensor(view);  // a copy, which owns its memory
}

HostTensor CompiledFunction::output(size_t k) const {
  const HostTensor view = output_view(k);
  return HostTensor(view);  // a copy, which owns its memory
}

CompiledFunction CompiledFunction::instance() const {
  auto other = std::make_shared<State>();
  other->programs = value_or_throw(state().programs->instance());
  other->folded = state().folded;
  return CompiledFunction(std::move(other));
}

void CompiledFunction::refreeze() {
  if (!state().folded)
    throw_failure(
        user_error("compile: refreeze: the program isn't frozen (CompileOptions::freeze)"));
  value_or_throw(state().folded->refreeze());
}

const Report& CompiledFunction::report() const { return state().programs->last().report(); }
std::string CompiledFunction::graph_text() const {
  return print(state().programs->last().traced());
}

}  // namespace cleave
