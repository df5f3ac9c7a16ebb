// The program, or two with gradient accumulation, of a training step.
#include <algorithm>
#include <chrono>

#include "base/result.h"
#include "compile/stage_planner.h"
#include "compile/stages.h"
#include "ir/text.h"
#include "remat/budget_family.h"
#include "runtime/thread_pool.h"
#include "train/step_trace.h"

namespace cleave {

struct TrainStep::State {
  struct Program {
    std::unique_ptr<BoundProgram> bound;
    bool clips = false;
  };
  Program step;    // the one that moves the parameters
  Program gather;  // with gradient accumulation, that of the runs before
  const Program* last = nullptr;
  Operators ops;  // the graphs' entries
  std::vector<std::unique_ptr<HostTensor>> learning_rates;
  Variable steps, micro_steps;
  int64_t accumulate = 1;
  Store store;
  size_t extra_results = 0;
  std::vector<std::pair<Variable, Variable>> averages;
  std::vector<HostTensor> trained;  // while the averages are in use
};

namespace {

double ms_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

// Traces and compiles one part.
TrainStep::State::Program made(TrainStep::State& state, StepTrace& trace) {
  const auto start = std::chrono::steady_clock::now();
  trace.record();
  TrainStep::State::Program out;
  out.clips = trace.norm.defined();
  BoundProgram::Parts parts;
  parts.graph = trace.close();
  parts.variables = trace.recording->bound();
  parts.inputs = trace.inputs;
  parts.specs = trace.specs;
  parts.forward_results = trace.results.size();
  parts.passes = trace.passes;
  for (size_t i = 0; i < trace.learning_rates.size(); ++i)
    parts.own.emplace_back(trace.learning_rates[i], state.learning_rates[i].get());
  const double trace_ms = ms_since(start);
  out.bound = trace::value_or_throw_at(
      trace.at, BoundProgram::make(std::move(parts), "train_step", trace.options.compile));
  out.bound->report().trace_ms = trace_ms;
  return out;
}

}  // namespace

TrainStep train_step(const nn::Module& model, const TracedFunction& loss,
                     const optim::Optimizer& optimizer, const std::vector<InputSpec>& inputs,
                     const TrainOptions& given, Store store, Location at) {
  if (given.accumulate < 1)
    trace::refuse(at, "train_step: accumulate is {}, expected 1 or more", given.accumulate);
  TrainOptions options = given;
  CompileOptions& compile = options.compile;
  auto state = std::make_shared<TrainStep::State>();
  state->ops = compile.ops;
  state->store = std::move(store);
  state->accumulate = options.accumulate;
  for (const double lr : optimizer.learning_rates()) {
    state->learning_rates.push_back(std::make_unique<HostTensor>(DType::f64, Sizes{}));
    state->learning_rates.back()->set_number(0, lr);
  }
  if (options.accumulate > 1) {
    if (compile.executor == nullptr)
      compile.executor = trace::value_or_throw_at(at, runtime::start_threads(compile.threads));
    StepTrace gather{model,   loss, optimizer,           inputs,
                     options, at,   StepPart::gathering, state->store};
    state->gather = made(*state, gather);
    if (!compile.dump_dir.empty()) compile.dump_dir += "/step";
  }
  StepTrace trace{model,
                  loss,
                  optimizer,
                  inputs,
                  options,
                  at,
                  options.accumulate > 1 ? StepPart::stepping : StepPart::whole,
                  state->store};
  state->step = made(*state, trace);
  state->steps = trace.step;
  state->micro_steps = trace.micro_step;
  state->extra_results = trace.results.size() - 1;
  state->averages = std::move(trace.averages);
  state->last = &state->step;
  return TrainStep(std::move(state));
}

namespace {

Result<std::vector<MemoryTrade>> trades_of(Graph graph, const StageOptions& options) {
  const OpRegistry& ops = options.ops.registry();
  CLEAVE_CHECK(run_stages(Stage::verify, Stage::tags, graph, ops, options));
  const auto planner = std::make_shared<StagePlanner>(ops, options);
  CLEAVE_TRY(BudgetFamily family, BudgetFamily::make(graph, planner, options.forward_results));
  CLEAVE_CHECK(family.complete());
  std::vector<MemoryTrade> all, trades;
  // What is chosen where the budget is just a member's peak; some members are never chosen.
  for (size_t k = 0; k < family.members().size(); ++k) {
    CLEAVE_TRY(const int64_t budget, family.peak(k));
    const Result<size_t> chosen = family.choose(budget);
    if (!chosen.ok()) continue;
    CLEAVE_TRY(const int64_t peak, family.peak(*chosen));
    all.push_back({peak, family.members()[*chosen].recompute_ns});
  }
  std::ranges::sort(all, {},
                    [](const MemoryTrade& t) { return std::pair(t.recompute_ns, t.peak_bytes); });
  for (const MemoryTrade& t : all)
    if (trades.empty() || t.peak_bytes < trades.back().peak_bytes) trades.push_back(t);
  return trades;
}

}  // namespace

std::vector<MemoryTrade> memory_trades(const nn::Module& model, const TracedFunction& loss,
                                       const optim::Optimizer& optimizer,
                                       const std::vector<InputSpec>& inputs,
                                       const TrainOptions& options, Location at) {
  StepTrace trace{model, loss, optimizer, inputs, options, at, StepPart::whole, Store()};
  trace.record();
  StageOptions stages{options.compile};
  stages.forward_results = trace.results.size();
  return trace::value_or_throw_at(at, trades_of(trace.close(), stages));
}

StepResult TrainStep::run(std::span<const InputRef> inputs) {
  if (!state_->trained.empty())
    throw_failure(user_error(
        "train_step: the averages stand in the place of the parameters; use_ema(false) first"));
  const bool gathers =
      state_->accumulate > 1 && *state_->micro_steps.data<int64_t>() + 1 < state_->accumulate;
  const State::Program& p = gathers ? state_->gather : state_->step;
  value_or_throw(p.bound->run(inputs));
  state_->last = &p;
  StepResult r;
  r.loss = p.bound->number(0);
  if (p.clips) r.grad_norm = p.bound->number(1 + state_->extra_results);
  return r;
}

HostTensor TrainStep::output(size_t k) const {
  if (k >= state_->extra_results)
    throw_failure(user_error("train_step: output {} is outside [0, {})", k, state_->extra_results));
  return state_->last->bound->result(1 + k);
}

namespace {

void require_group(size_t group, size_t count) {
  if (group >= count)
    throw_failure(user_error("train_step: group {} is outside [0, {})", group, count));
}

}  // namespace

double TrainStep::learning_rate(size_t group) const {
  require_group(group, state_->learning_rates.size());
  return state_->learning_rates[group]->number(0);
}
void TrainStep::set_learning_rate(double lr) {
  for (const auto& own : state_->learning_rates) own->set_number(0, lr);
}
void TrainStep::set_learning_rate(size_t group, double lr) {
  require_group(group, state_->learning_rates.size());
  state_->learning_rates[group]->set_number(0, lr);
}
int64_t TrainStep::steps() const { return *state_->steps.data<int64_t>(); }
Store TrainStep::store() const { return state_->store; }

void TrainStep::use_ema(bool on) {
  State& s = *state_;
  if (s.averages.empty())
    throw_failure(
        user_error("train_step: use_ema: no averages are kept (TrainOptions::ema_decay)"));
  if (on == !s.trained.empty()) return;
  for (size_t i = 0; i < s.averages.size(); ++i) {
    auto& [parameter, average] = s.averages[i];
    if (on) {
      s.trained.push_back(parameter.value());
      parameter.set(average.value().to(parameter.dtype()));
    } else {
      parameter.set(s.trained[i]);
    }
  }
  if (!on) s.trained.clear();
}

const Report& TrainStep::report() const { return state_->step.bound->report(); }
std::string TrainStep::graph_text() const { return print(state_->step.bound->traced()); }
void TrainStep::watch_memory() {
  for (const State::Program* p : {&state_->step, &state_->gather})
    if (p->bound) p->bound->instance().fill_arena_pattern();
}
int64_t TrainStep::measured_peak_bytes() const {
  return state_->last->bound->instance().touched_arena_bytes() +
         state_->last->bound->report().placeholder_bytes;
}
void TrainStep::profile_kernels(bool on) { state_->step.bound->instance().profile_kernels(on); }
std::vector<StepTime> TrainStep::step_times() const {
  return state_->step.bound->instance().step_times();
}

}  // namespace cleave
