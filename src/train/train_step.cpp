// The program of a training step; with gradient accumulation there are two.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>

#include "base/busy.h"
#include "base/result.h"
#include "compile/stage_planner.h"
#include "compile/stages.h"
#include "exec/program_access.h"
#include "ir/move_graph.h"
#include "ir/text.h"
#include "remat/budget_family.h"
#include "train/nonfinite.h"
#include "train/step_outcome.h"
#include "train/step_trace.h"

namespace cleave {

struct TrainStep::State {
  std::unique_ptr<SizedPrograms> step;    // updates the parameters
  std::unique_ptr<SizedPrograms> gather;  // with gradient accumulation: all other micro steps
  const SizedPrograms* last = nullptr;
  std::atomic<bool> running = false;
  bool has_results = false;               // of the last run
  std::shared_ptr<StepOutcome> last_run;  // null: it was waited for
  StepOutcomes outcomes;
  NonFinite on_nonfinite = NonFinite::keep;
  std::vector<std::unique_ptr<HostTensor>> learning_rates;  // as the programs read them
  std::vector<Variable> rates;                              // of the store
  Variable steps, micro_steps;
  // The number in micro_steps when that had this version, so that it isn't read from a device.
  int64_t micro_count = 0, micro_version = -1;
  int64_t accumulate = 1;
  Store store;
  size_t extra_results = 0;
  std::vector<std::pair<Variable, Variable>> averages;
  std::vector<HostTensor> before_averages;  // the parameters, while the averages are in use
  // ---- of the model, as it was traced
  nn::Module model;
  struct Mode {
    std::string name;
    nn::Module module;
    bool was_training = true;
  };
  std::vector<Mode> modes;  // of the model, and of TrainOptions::frozen
  struct Parameter {
    std::string name;
    Variable variable;
    bool requires_grad = true, is_trained = false;
  };
  std::vector<Parameter> parameters;

  // Averages that are in the parameters' place then are the parameters.
  ~State() {
    if (before_averages.empty()) return;
    for (const auto& [parameter, average] : averages)
      trace::Access::state(parameter)->holds_average = false;
  }
};

namespace {

using trace::Access;

int64_t number_of(const Variable& v) { return *Access::memory(v).data<int64_t>(); }

double ms_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

// Traces one part.
ProgramCode::Parts traced(const TrainStep::State& state, StepTrace& trace) {
  const auto start = std::chrono::steady_clock::now();
  trace.record();
  ProgramCode::Parts parts;
  parts.options = trace.options.compile;
  parts.graph = trace.close();
  parts.variables = trace.recording->bound();
  parts.marks = {trace.norm_at, trace.scale_at, trace.skipped_at, trace.watched_at, trace.checked};
  for (const auto& b : parts.variables)
    if (b.variable.kind() == VariableKind::random) parts.marks.rng = b.variable;
  parts.inputs = trace.inputs;
  parts.specs = trace.specs;
  parts.results = trace.results.size();
  parts.forward_results = trace.results.size();
  parts.front = std::move(trace.front);
  if (trace.learning_rates.size() > state.learning_rates.size())
    trace::refuse(trace.at, "train_step: the optimizer's learning_rates() gave {} rates, then {}",
                  state.learning_rates.size(), trace.learning_rates.size());
  for (size_t i = 0; i < trace.learning_rates.size(); ++i)
    parts.own.emplace_back(trace.learning_rates[i], state.learning_rates[i].get());
  parts.trace_ms = ms_since(start);
  parts.front.warnings = trace.recording->warnings();
  return parts;
}

// What the trace of the step says of it, which is the same for all sizes.
void take(TrainStep::State& state, StepTrace& trace) {
  state.steps = trace.step;
  state.micro_steps = trace.micro_step;
  state.extra_results = trace.results.size() - 1;
  state.rates = trace.rates;
  for (const auto& [name, v] : trace.trained)
    for (TrainStep::State::Parameter& p : state.parameters) p.is_trained |= p.variable == v;
  state.averages = std::move(trace.averages);
}

// What `ask` says of the programs that a memory budget may choose for this part of a step.
template <class Ask>
auto of_family(StepTrace& trace, const Ask& ask) -> decltype(ask(std::declval<BudgetFamily&>())) {
  trace.record();
  StageOptions options{trace.options.compile};
  options.partition.reset();  // these are cleave's own choices
  options.forward_results = trace.results.size();
  const OpRegistry& ops = options.ops.registry();
  Graph graph = trace.close();
  if (!options.device.is_cpu()) { CLEAVE_TRY(graph, moved_to(graph, options.device, ops)); }
  CLEAVE_CHECK(run_stages(Stage::verify, Stage::tags, graph, ops, options));
  const auto planner = std::make_shared<StagePlanner>(ops, options);
  CLEAVE_TRY(BudgetFamily family, BudgetFamily::make(graph, planner, options.forward_results));
  return ask(family);
}

// A percentage is of the peak that the step has without a budget, which is that of its last part.
Result<MemoryBudget> budget_in_bytes(StepTrace& last) {
  const MemoryBudget& budget = last.options.compile.memory_budget;
  CLEAVE_TRY(const int64_t peak, of_family(last, [](const BudgetFamily& family) {
               return family.peak_without_budget();
             }));
  return MemoryBudget(std::max(budget.bytes(peak), int64_t{1}));
}

// Without a null one.
const std::shared_ptr<const optim::Optimizer>& optimizer_of(const OptimizerRef& given,
                                                            Location at) {
  if (!given.optimizer()) trace::refuse(at, "train_step: the optimizer is null");
  return given.optimizer();
}

}  // namespace

TrainStep train_step(const nn::Module& model, const TracedFunction& loss, const OptimizerRef& given,
                     const std::vector<InputSpec>& inputs, const TrainOptions& options, Store store,
                     Location at) {
  if (options.accumulate < 1)
    trace::refuse(at, "train_step: accumulate is {}, expected 1 or more", options.accumulate);
  if (options.compile.threads < 0)
    trace::refuse(at, "train_step: threads is {}, expected 0 or more", options.compile.threads);
  if (options.compile.freeze)
    trace::refuse(at, "train_step: freeze is for inference, by compile(): a step trains the model");
  const auto varies = [](const InputSpec& s) {
    return std::ranges::any_of(s.shape.dims(), &InputDim::varies);
  };
  if (!given.is_kept() &&
      (options.compile.other_sizes == OtherSizes::grow || std::ranges::any_of(inputs, varies)))
    trace::refuse(at,
                  "train_step: sizes of the inputs vary, so the step keeps the optimizer, which is "
                  "given by a base of its type; give it by its own type or as a std::shared_ptr");
  const std::shared_ptr<const optim::Optimizer>& optimizer = optimizer_of(given, at);
  auto state = std::make_shared<TrainStep::State>();
  state->store = std::move(store);
  state->model = model;
  state->modes.push_back({"the model", model, model.is_training()});
  for (const auto& [name, module] : options.frozen)
    state->modes.push_back({name, module, module.is_training()});
  for (const auto& [name, v] : model.named_parameters())
    state->parameters.push_back({name, v, v.requires_grad()});
  state->accumulate = options.accumulate;
  state->on_nonfinite = options.on_nonfinite;
  for (const double lr : optimizer->learning_rates()) {
    state->learning_rates.push_back(std::make_unique<HostTensor>(DType::f64, Sizes{}));
    state->learning_rates.back()->set_number(0, lr);
  }
  const auto notices = std::make_shared<Notices>(options.compile.log);
  // The programs are the state's own, so they refer to it.
  const auto programs = [&](StepPart part) {
    auto trace = [=, s = state.get()](const std::vector<InputSpec>& specs,
                                      const CompileOptions& compile) {
      TrainOptions own = options;
      own.compile = compile;
      if (part == StepPart::gathering && compile.memory_budget.is_percent()) {
        StepTrace last{s->model, loss, *optimizer, specs, own, at, StepPart::stepping, Store()};
        own.compile.memory_budget = trace::value_or_throw_at(at, budget_in_bytes(last));
      }
      if (std::string& dump = own.compile.dump_dir; !dump.empty() && part == StepPart::stepping)
        dump += "/step";
      StepTrace step{s->model, loss, *optimizer, specs, own, at, part, s->store};
      ProgramCode::Parts parts = traced(*s, step);
      if (part != StepPart::gathering) take(*s, step);
      return parts;
    };
    return SizedPrograms::make("train_step", inputs, options.compile, notices, std::move(trace),
                               at);
  };
  const bool gathers = options.accumulate > 1;
  if (gathers) state->gather = programs(StepPart::gathering);
  state->step = programs(gathers ? StepPart::stepping : StepPart::whole);
  state->last = state->step.get();
  return TrainStep(std::move(state));
}

std::vector<MemoryTrade> memory_trades(const nn::Module& model, const TracedFunction& loss,
                                       const OptimizerRef& optimizer,
                                       const std::vector<InputSpec>& inputs,
                                       const TrainOptions& options, Location at) {
  const InputSizes sizes = trace::value_or_throw_at(at, InputSizes::make("train_step", inputs));
  const std::vector<InputSpec> largest = sizes.at(sizes.largest());
  const StepPart last = options.accumulate > 1 ? StepPart::stepping : StepPart::whole;
  TrainOptions own = options;
  if (sizes.vary() || own.compile.other_sizes == OtherSizes::grow) compute_each_time(own.compile);
  StepTrace trace{model, loss, *optimizer_of(optimizer, at), largest, own, at, last, Store()};
  const auto trades = trace::value_or_throw_at(at, of_family(trace, [&](BudgetFamily& family) {
                                                 return family.trades(options.compile.offload);
                                               }));
  Notices(options.compile.log).warn(trace.recording->warnings());
  std::vector<MemoryTrade> out;
  for (const auto& [peak, ns, offloaded] : trades) out.push_back({peak, ns, offloaded});
  return out;
}

namespace {

// What the host program has changed since the step was traced, and has no effect on it.
Status check_unchanged(const TrainStep::State& s) {
  for (const TrainStep::State::Parameter& p : s.parameters) {
    if (p.is_trained && Access::state(p.variable)->holds_average)
      return user_error("train_step: an average stands in the place of %{}; use_ema(false) first",
                        p.name);
    if (p.variable.requires_grad() != p.requires_grad)
      return user_error(
          "train_step: %{} was {} after the step was compiled, which has no effect "
          "on it; compile another step, with this one's store()",
          p.name, p.requires_grad ? "frozen" : "released");
  }
  for (const TrainStep::State::Mode& m : s.modes)
    if (m.module.is_training() != m.was_training)
      return user_error(
          "train_step: {} was switched to {} after the step was compiled, which "
          "has no effect on it; switch it back (compile() needs no eval())",
          m.name, m.was_training ? "eval()" : "train()");
  return {};
}

void require_group(size_t group, size_t count) {
  if (group >= count)
    throw_failure(user_error("train_step: group {} is outside [0, {})", group, count));
}
void require_rate(double lr) {
  if (!(lr >= 0) || std::isinf(lr))
    throw_failure(
        user_error("train_step: the learning rate is {}, expected a number of at least 0", lr));
}

}  // namespace

TrainStep::State& TrainStep::state() const {
  if (!state_) throw_failure(user_error("TrainStep: it is empty; train_step() makes one"));
  return *state_;
}

ProgramAccess::Step ProgramAccess::step(const TrainStep& step) {
  const TrainStep::State& s = step.state();
  value_or_throw(check_unchanged(s));
  Step out{*s.step, s.gather.get(), s.accumulate, s.micro_steps, s.on_nonfinite, {}};
  for (size_t k = 0; k < s.rates.size(); ++k)
    out.learning_rates.emplace_back(
        s.rates.size() == 1 ? "optimizer.lr" : fmt::format("optimizer.lr.{}", k), s.rates[k]);
  return out;
}

namespace {

bool is_nonfinite(const Failure& f) { return f.message.starts_with(not_finite); }

void require_results(const TrainStep::State& s) {
  if (!s.has_results)
    throw_failure(
        user_error("train_step: it has no outputs: it did not run yet, or the last run failed or "
                   "was skipped"));
  if (s.last_run) value_or_throw(s.last_run->status());
}

void require_output(const TrainStep::State& s, size_t k) {
  if (k >= s.extra_results)
    throw_failure(
        user_error("train_step: output {} is outside [0, {}): outputs are what the function "
                   "returns after the loss",
                   k, s.extra_results));
  require_results(s);
}

// Whether this run only adds to the gradients.
bool gathers_next(TrainStep::State& s) {
  if (s.accumulate == 1) return false;
  if (s.last_run && s.last_run->has_failed()) s.micro_version = -1;
  if (const int64_t version = Access::state(s.micro_steps)->version; version != s.micro_version) {
    s.micro_count = number_of(s.micro_steps);
  }
  s.micro_version = -1;  // unless the run is made
  return s.micro_count + 1 < s.accumulate;
}

void counted(TrainStep::State& s, bool gathers) {
  if (s.accumulate == 1) return;
  s.micro_count = gathers ? s.micro_count + 1 : 0;
  s.micro_version = Access::state(s.micro_steps)->version;
}

StepResult started(TrainStep::State& s, SizedPrograms& p, std::span<const InputRef> inputs) {
  const std::shared_ptr<StepOutcome> outcome = s.outcomes.unused();
  outcome->begin(p);
  value_or_throw(p.start(inputs, outcome));
  outcome->started();
  s.has_results = true;
  s.last_run = outcome;
  using Which = StepNumber::Source::Which;
  StepResult r;
  r.loss = StepNumber(outcome, Which::loss);
  r.grad_norm = StepNumber(outcome, Which::grad_norm);
  r.loss_scale = StepNumber(outcome, Which::loss_scale);
  r.skipped_steps = StepNumber(outcome, Which::skipped_steps);
  return r;
}

StepResult waited(TrainStep::State& s, SizedPrograms& p, std::span<const InputRef> inputs) {
  Status ran = p.run(inputs);
  const BoundProgram& program = p.last();
  const ProgramCode::Marks& marks = program.marks();
  StepResult r;
  r.skipped = !ran.ok() && is_nonfinite(ran.failure()) && s.on_nonfinite == NonFinite::skip_step;
  if (!ran.ok() && is_nonfinite(ran.failure()) && !r.skipped)
    throw_failure(nonfinite_failure(program, marks.checked));
  if (!r.skipped) value_or_throw(std::move(ran));
  s.has_results = !r.skipped;
  r.loss = StepNumber(program.number(0));
  if (marks.norm_at) r.grad_norm = StepNumber(program.number(*marks.norm_at));
  if (marks.scale_at && !r.skipped) {
    r.loss_scale = StepNumber(program.number(*marks.scale_at));
    r.skipped_steps = StepNumber(program.number(*marks.skipped_at));
  }
  if (r.skipped && marks.rng.defined())
    ++Access::written(marks.rng).data<int64_t>()[1];  // as rng_next
  return r;
}

}  // namespace

StepResult TrainStep::run(std::span<const InputRef> inputs) {
  State& s = state();
  const Busy busy(s.running);  // of what is kept here too, such as learning rates
  if (!busy.is_mine())
    throw_failure(
        user_error("train_step: it is running on another thread; one program runs once at a time"));
  value_or_throw(check_unchanged(s));
  const bool gathers = gathers_next(s);
  SizedPrograms& p = gathers ? *s.gather : *s.step;
  for (size_t i = 0; i < s.rates.size(); ++i)
    s.learning_rates[i]->set_number(0, Access::memory(s.rates[i]).item());
  s.has_results = false;
  s.last_run = nullptr;
  if (s.last != &p) value_or_throw(s.last->settle());
  const bool waits = s.on_nonfinite != NonFinite::keep || !p.last().instance().device_memory();
  StepResult out = waits ? waited(s, p, inputs) : started(s, p, inputs);
  if (!out.skipped) counted(s, gathers);
  s.last = &p;
  return out;
}

StepResult TrainStep::run_named(std::span<const NamedInput> inputs) {
  return run(value_or_throw(state().step->sizes().in_order(inputs)));
}

HostTensor TrainStep::output_view(size_t k) const {
  require_output(state(), k);
  return state().last->result(1 + k);
}

DeviceTensor TrainStep::output_there(size_t k) const {
  require_output(state(), k);
  return state().last->result_there(1 + k);
}

HostTensor TrainStep::value(const std::string& name) const {
  const State& s = state();
  value_or_throw(watched_position("train_step", s.step->last().marks().watched_at, name));
  require_results(s);
  const BoundProgram& program = s.last->last();
  const auto at = program.marks().watched_at.find(plain_name(name));
  if (at == program.marks().watched_at.end())
    throw_failure(user_error(
        "train_step: value(\"{}\"): the last run doesn't update the parameters and doesn't compute "
        "it",
        name));
  const HostTensor view = program.result(at->second);
  return HostTensor(view);
}

HostTensor TrainStep::output(size_t k) const {
  const HostTensor view = output_view(k);
  return HostTensor(view);  // a copy, which owns its memory
}

double TrainStep::learning_rate(size_t group) const {
  require_group(group, state().rates.size());
  return Access::memory(state().rates[group]).item();
}
void TrainStep::set_learning_rate(double lr) {
  require_rate(lr);
  for (Variable& rate : state().rates) *Access::memory(rate).data<double>() = lr;
}
void TrainStep::set_learning_rate(size_t group, double lr) {
  require_rate(lr);
  require_group(group, state().rates.size());
  *Access::memory(state().rates[group]).data<double>() = lr;
}
int64_t TrainStep::steps() const { return number_of(state().steps); }
Store TrainStep::store() const { return state().store; }

void TrainStep::use_ema(bool on) {
  State& s = state();
  if (s.averages.empty())
    throw_failure(
        user_error("train_step: use_ema: no averages are kept (TrainOptions::ema_decay)"));
  if (on == !s.before_averages.empty()) return;
  if (on) {
    std::vector<HostTensor> before;
    for (const auto& [parameter, average] : s.averages) {
      if (Access::state(parameter)->holds_average)
        throw_failure(user_error("train_step: use_ema: another step has put its averages there"));
      before.push_back(Access::memory(parameter));
    }
    s.before_averages = std::move(before);
  }
  for (size_t i = 0; i < s.averages.size(); ++i) {
    auto& [parameter, average] = s.averages[i];
    Access::state(parameter)->holds_average = on;
    parameter.set(on ? Access::memory(average).to(parameter.dtype()) : s.before_averages[i]);
  }
  if (!on) s.before_averages.clear();
}

const Report& TrainStep::report() const { return state().step->last().report(); }
std::string TrainStep::graph_text() const { return print(state().step->last().traced()); }
void TrainStep::watch_memory() {
  for (SizedPrograms* p : {state().step.get(), state().gather.get()})
    if (p) p->watch_memory();
}
int64_t TrainStep::measured_peak_bytes() const {
  BoundProgram& last = state().last->last();
  return last.instance().touched_arena_bytes() + last.report().placeholder_bytes;
}
void TrainStep::profile_kernels(bool on) { state().step->profile_kernels(on); }
Target TrainStep::tuned_target() const {
  return value_or_throw(state().step->last().instance().tuned_target());
}
std::vector<StepTime> TrainStep::step_times() const {
  return state().step->last().instance().step_times();
}

}  // namespace cleave
