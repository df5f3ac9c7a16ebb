// The whole training step as one graph:
//
//   loss = f(inputs)   gradients   [clip]   optimizer   returns loss, ..., [norm], updates
//
// and the program that runs it.
#include <chrono>

#include "cleave/train.h"
#include "compile/bound_program.h"
#include "grad/grad.h"
#include "ir/text.h"
#include "trace/optimizer_update.h"

namespace cleave {
namespace {

using trace::Access;
using trace::RecordingPtr;

constexpr const char* step_name = "optimizer.step";
constexpr const char* rng_name = "rng";

double ms_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

// The Variable of this name and type in the store, made of `initial` where there is none.
Variable kept(const Store& store, const std::string& name, const HostTensor& initial,
              VariableKind kind, Location at) {
  Variable v = store.find(name);
  if (!v.defined()) {
    v = Variable(name, initial, kind);
    Store(store).add(name, v);
  }
  if (v.dtype() != initial.dtype() || v.shape() != initial.shape())
    trace::refuse(at, "train_step: the store's {} is {}, expected {}", name, v.value().type_text(),
                  initial.type_text());
  return v;
}

// What is traced, until it is compiled.
struct Tracing {
  const nn::Module& model;
  const TracedFunction& loss_function;
  const optim::Optimizer& optimizer;
  const std::vector<InputSpec>& specs;
  const Options& options;
  Location at;

  RecordingPtr recording = {};
  std::vector<ValueId> inputs = {};
  ValueId learning_rate = {};
  Variable step = {};
  Tensors results = {};
  Tensor norm = {};
  std::vector<std::pair<std::string, Variable>> trained = {};  // that the loss depends on
  Tensors grads = {};

  void declare();
  void differentiate();
  void clip();
  void optimize();
  Graph close();
};

void Tracing::declare() {
  recording =
      trace::Recording::program(options.ops.registry(), trace::Mode::training, "train_step", false);
  declare_model(*recording, model);
  const Store named = model.store();
  for (const auto& [name, v] : named.entries()) Store(options.store).add(name, v);
  inputs = declare_inputs(*recording, specs);
  learning_rate = recording->add_input("lr", DType::f64, {});
  step = kept(options.store, step_name, HostTensor(DType::i64, {}), VariableKind::state, at);
  HostTensor seeds(DType::i64, {2});
  seeds.data<int64_t>()[0] = static_cast<int64_t>(options.seed);
  recording->set_rng(kept(options.store, rng_name, seeds, VariableKind::random, at));
}

void Tracing::differentiate() {
  results = run_traced(loss_function, recording, inputs, at);
  if (results.empty()) trace::refuse(at, "train_step: the loss function returns nothing");
  const Tensor loss = results[0];
  if (!is_floating(loss.dtype()) || loss.numel() != 1)
    trace::refuse(at, "train_step: the loss is {}, expected a floating Tensor of one element",
                  loss.type_text());
  Graph& g = recording->graph();
  GradRequest request;
  request.outputs = {recording->value_of(loss, at)};
  request.cotangents = {recording->value_of(ones_like(loss, at), at)};
  std::vector<std::pair<std::string, Variable>> wanted;
  for (const auto& [name, v] : model.named_parameters()) {
    if (!v.requires_grad()) continue;
    wanted.emplace_back(name, v);
    request.wrt.push_back(recording->leaf(v, at));
  }
  Result<Values> gradients = add_gradients(g, recording->ops(), request);
  if (!gradients.ok()) trace::throw_at(at, std::move(gradients).failure().within("train_step"));
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!(*gradients)[i].valid()) continue;  // the loss doesn't depend on it: as PyTorch, no update
    trained.push_back(wanted[i]);
    grads.push_back(Access::tensor(recording, (*gradients)[i]));
  }
  if (trained.empty())
    trace::refuse(at, "train_step: the loss depends on no parameter that is trained");
}

void Tracing::clip() {
  if (options.clip_norm == 0) return;
  if (!(options.clip_norm > 0))
    trace::refuse(at, "train_step: clip_norm is {}, expected 0 or more", options.clip_norm);
  norm = optim::global_norm(grads, at).named("grad_norm");
  grads = optim::clip_by_norm(grads, norm, options.clip_norm, at);
}

void Tracing::optimize() {
  for (const auto& u : recording->updates())
    for (const auto& [name, v] : trained)
      if (u.variable == v)
        trace::refuse(at,
                      "train_step: %{} is assigned by the model and trained; freeze it "
                      "(set_requires_grad(false)) or make it a buffer",
                      name);
  optim::UpdateState state;
  state.recording = recording;
  state.store = options.store;
  state.at = at;
  const ValueId count = recording->declare(step, step_name);
  state.step = add(Access::tensor(recording, count), 1, 1, at).named("optimizer.step.next");
  state.learning_rate = Access::tensor(recording, learning_rate);
  for (size_t i = 0; i < trained.size(); ++i) {
    const auto& [name, v] = trained[i];
    state.parameters.push_back({name, v, grads[i]});
    state.variables.push_back(v);
  }
  optim::UpdateRecorder::record(optimizer, state);
  recording->update(step, Access::value(state.step));
}

Graph Tracing::close() {
  Graph& g = recording->graph();
  std::vector<Return> returns;
  for (const Tensor& t : results) returns.push_back({recording->value_of(t, at)});
  if (norm.defined()) returns.push_back({Access::value(norm)});
  for (const auto& b : recording->bound()) {
    if (b.variable.kind() != VariableKind::random) continue;
    Builder builder(g, recording->ops());
    builder.set_loc(recording->loc(at));
    builder.name_next({"rng.next"});
    const ValueId next = builder.call1("rng_next", {b.placeholder});
    value_or_throw(builder.status());
    recording->update(b.variable, next);
  }
  for (const auto& u : recording->updates())
    returns.push_back({u.placeholder, ReturnKind::update, recording->leaf(u.variable, at)});
  g.set_returns(std::move(returns));
  std::vector<ValueId> keep = inputs;
  keep.push_back(learning_rate);
  drop_unused(g, keep);
  return recording->close();
}

}  // namespace

struct TrainStep::State {
  std::unique_ptr<BoundProgram> program;
  Operators ops;  // the graph's entries
  HostTensor learning_rate{DType::f64, {}};
  Variable step;
  Store store;
  size_t extra_results = 0;
  bool clips = false;
};

TrainStep train_step(const nn::Module& model, const TracedFunction& loss,
                     const optim::Optimizer& optimizer, const std::vector<InputSpec>& inputs,
                     const Options& options, Location at) {
  const auto start = std::chrono::steady_clock::now();
  Tracing tracing{model, loss, optimizer, inputs, options, at};
  tracing.declare();
  tracing.differentiate();
  tracing.clip();
  tracing.optimize();

  auto state = std::make_shared<TrainStep::State>();
  state->ops = options.ops;
  state->learning_rate.set_number(0, optimizer.learning_rate());
  state->step = tracing.step;
  state->store = options.store;
  state->extra_results = tracing.results.size() - 1;
  state->clips = tracing.norm.defined();
  BoundProgram::Parts parts;
  parts.graph = tracing.close();
  parts.variables = tracing.recording->bound();
  parts.inputs = tracing.inputs;
  parts.specs = inputs;
  parts.own = {{tracing.learning_rate, state->learning_rate.data()}};
  const double trace_ms = ms_since(start);
  Result<std::unique_ptr<BoundProgram>> program =
      BoundProgram::make(std::move(parts), "train_step", options);
  if (!program.ok()) trace::throw_at(at, std::move(program).failure());
  state->program = *std::move(program);
  state->program->report().trace_ms = trace_ms;
  return TrainStep(std::move(state));
}

StepResult TrainStep::run(std::span<const InputRef> inputs) {
  value_or_throw(state_->program->run(inputs));
  StepResult r;
  r.loss = state_->program->number(0);
  if (state_->clips) r.grad_norm = state_->program->number(1 + state_->extra_results);
  return r;
}

HostTensor TrainStep::output(size_t k) const {
  if (k >= state_->extra_results)
    throw_failure(user_error("train_step: output {} is outside [0, {})", k, state_->extra_results));
  return state_->program->result(1 + k);
}

double TrainStep::learning_rate() const { return state_->learning_rate.number(0); }
void TrainStep::set_learning_rate(double lr) { state_->learning_rate.set_number(0, lr); }
int64_t TrainStep::steps() const { return *state_->step.data<int64_t>(); }
Store TrainStep::store() const { return state_->store; }
const Report& TrainStep::report() const { return state_->program->report(); }
std::string TrainStep::graph_text() const { return print(state_->program->traced()); }
void TrainStep::watch_memory() { state_->program->instance().fill_arena_pattern(); }
int64_t TrainStep::measured_peak_bytes() const {
  return state_->program->instance().touched_arena_bytes() + report().placeholder_bytes;
}

}  // namespace cleave
