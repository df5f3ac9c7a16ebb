#include "train/step_trace.h"

#include <cmath>
#include <limits>
#include <set>

#include "compile/stages.h"
#include "grad/grad.h"
#include "trace/optimizer_update.h"
#include "trace/record.h"

namespace cleave {

using trace::Access;

namespace {

constexpr const char* step_name = "optimizer.step";
constexpr const char* micro_step_name = "optimizer.micro_step";
constexpr const char* averaged_name = "ema.n_averaged";
constexpr const char* scale_name = "optimizer.loss_scale";
constexpr const char* growth_name = "optimizer.growth_tracker";
constexpr const char* skipped_name = "optimizer.skipped_steps";
constexpr const char* rng_name = "rng";

constexpr std::string_view gradient_prefix = "grad.";

// Adds the value %h to `wrt` for each name grad.h that is watched and no value of the function;
// returns these names.
std::vector<std::string> watch_gradients_of(const Watch& watch, const Graph& g, Values& wrt) {
  std::vector<std::string> out;
  for (const std::string& name : watch.missing()) {
    if (!name.starts_with(gradient_prefix)) continue;
    const ValueId v = g.find(name.substr(gradient_prefix.size()));
    if (!v.valid() || !is_floating(g.type(v).dtype)) continue;
    wrt.push_back(v);
    out.push_back(name);
  }
  return out;
}

bool narrow(DType t) { return t == DType::bf16 || t == DType::f16; }

}  // namespace

void StepTrace::record() {
  declare();
  differentiate();
  gather();
  if (part == StepPart::gathering) return;
  unscale();
  clip();
  const size_t first_update = recording->updates().size();
  optimize();
  average();
  if (!found.defined()) return;
  hold_skipped(first_update);
  write_scale();
}

// The store's Variable of this name, which must have the type of `initial`; added with that value
// if there is none.
Variable StepTrace::kept(const std::string& name, const HostTensor& initial,
                         VariableKind kind) const {
  Variable v = store.find(name);
  if (!v.defined()) {
    v = Variable(name, initial, kind);
    Store(store).add(name, v);
  }
  if (v.dtype() != initial.dtype() || v.shape() != initial.shape())
    trace::refuse(at, "train_step: the store's {} is {}, expected {}", name,
                  Access::host(v).type_text(), initial.type_text());
  return v;
}

Tensor StepTrace::read(const Variable& v, const std::string& name) const {
  return Access::tensor(recording, recording->declare(v, name));
}

void StepTrace::write(const Variable& v, const std::string& name, const Tensor& next) const {
  recording->declare(v, name);
  recording->update(v, recording->value_of(next.named(name + ".next"), at));
}

void StepTrace::declare() {
  recording = trace::Recording::program(options.compile.ops.registry(), trace::Mode::training,
                                        "train_step", false);
  declare_model(*recording, model);
  declare_frozen();
  const Store named = model.store();
  for (const auto& [name, v] : named.entries()) store.add(name, v);
  if (options.compile.autocast) recording->set_autocast();
  inputs = declare_inputs(*recording, specs, at);
  step = kept(step_name, HostTensor(DType::i64, {}), VariableKind::state);
  HostTensor seeds(DType::i64, {2});
  seeds.data<int64_t>()[0] = static_cast<int64_t>(options.seed);
  const Variable rng = kept(rng_name, seeds, VariableKind::random);
  recording->set_rng(rng);
  if (part != StepPart::whole)
    micro_step = kept(micro_step_name, HostTensor(DType::i64, {}), VariableKind::state);
  if (scales_loss(options)) {
    check_loss_scale(options, at);
    scale.scale = read(
        kept(scale_name, HostTensor::scalar(options.init_scale, DType::f32), VariableKind::state),
        scale_name);
    scale.skipped =
        read(kept(skipped_name, HostTensor(DType::i64, {}), VariableKind::state), skipped_name);
    skipped_steps = scale.skipped;
  }
  if (part == StepPart::gathering) return;
  if (scale.scale.defined())
    scale.count =
        read(kept(growth_name, HostTensor(DType::i32, {}), VariableKind::state), growth_name);
  const std::vector<double> initial = optimizer.learning_rates();
  if (initial.empty()) trace::refuse(at, "train_step: the optimizer's learning_rates() gave none");
  for (size_t i = 0; i < initial.size(); ++i) {
    const std::string name = initial.size() == 1 ? "lr" : fmt::format("lr.{}", i);
    learning_rates.push_back(recording->add_input(name, Type(DType::f64, {})));
    rates.push_back(
        kept("optimizer." + name, HostTensor::scalar(initial[i], DType::f64), VariableKind::state));
  }
}

void StepTrace::declare_frozen() {
  std::set<std::string> names;
  for (const auto& [name, module] : options.frozen) {
    if (name.empty())
      trace::refuse(at, "train_step: TrainOptions::frozen: the name of module {} is ``",
                    names.size());
    trace::value_or_throw_at(at, trace::check_name(name));
    if (!names.insert(name).second)
      trace::refuse(at, "train_step: TrainOptions::frozen: two modules are named `{}`", name);
    declare_model(*recording, module, name + ".");
  }
}

// Runs autocast and the pre_grad passes on the recorded function, and replaces its results and the
// values that it assigns by theirs.
void StepTrace::rewrite_recorded() {
  Graph& g = recording->graph();
  std::vector<Return> returns;
  for (const Tensor& t : results) returns.push_back({recording->value_of(t, at)});
  for (const auto& u : recording->updates())
    returns.push_back({u.next, ReturnKind::update, u.target});
  watch.find(g);
  watch.add_returns(returns);
  g.set_returns(std::move(returns));
  Status rewritten =
      run_stages(Stage::autocast, Stage::pre_grad, g, recording->ops(), {options.compile}, &front);
  if (!rewritten.ok()) trace::throw_at(at, std::move(rewritten).failure().within("train_step"));
  recording->forget_copies();
  size_t k = 0;
  for (Tensor& t : results) t = Access::tensor(recording, g.returns()[k++].value);
  const auto updates = recording->updates();
  for (const auto& u : updates) recording->update(u.target, g.returns()[k++].value);
  watch.take_returns(g, k);
}

// That of the loss: 1 or the scale, divided by the number of runs.
Tensor StepTrace::cotangent() const {
  const Tensor& loss = results[0];
  const bool is_whole = part == StepPart::whole;
  const double share = is_whole ? 1 : 1 / static_cast<double>(options.accumulate);
  if (!scale.scale.defined()) return is_whole ? ones_like(loss, at) : full_like(loss, share, at);
  const Tensor factor = is_whole ? scale.scale : mul(scale.scale, share, at);
  return expand(to(factor, loss.dtype(), at), loss.sizes(), at);
}

void StepTrace::differentiate() {
  results = run_traced(loss_function, recording, inputs, at);
  if (results.empty()) trace::refuse(at, "train_step: the loss function returns nothing");
  const Tensor loss = results[0];
  if (!is_floating(loss.dtype()) || loss.numel() != 1)
    trace::refuse(at, "train_step: the loss is {}, expected a floating Tensor of one element",
                  loss.type_text());
  Graph& g = recording->graph();
  const std::vector<bool> before = reached_from(g, recording->value_of(loss, at));
  rewrite_recorded();
  GradRequest request;
  request.outputs = {recording->value_of(results[0], at)};
  request.cotangents = {recording->value_of(cotangent(), at)};
  std::vector<std::pair<std::string, Variable>> wanted;
  for (const auto& [name, v] : model.named_parameters()) {
    if (!v.requires_grad()) continue;
    wanted.emplace_back(name, v);
    request.wrt.push_back(recording->leaf(v, at));
  }
  const std::vector<std::string> of_watched = watch_gradients_of(watch, g, request.wrt);
  Result<Values> gradients = add_gradients(g, recording->ops(), request);
  if (!gradients.ok()) trace::throw_at(at, std::move(gradients).failure().within("train_step"));
  watch_gradients(of_watched, {gradients->begin() + std::ssize(wanted), gradients->end()});
  // As in PyTorch, a parameter that the loss doesn't depend on has no gradient and no update. One
  // on which it depends no more because of a pass has a gradient of zeros.
  const std::vector<bool> after = reached_from(g, request.outputs[0]);
  for (size_t i = 0; i < wanted.size(); ++i) {
    const ValueId leaf = request.wrt[i], gradient = (*gradients)[i];
    const bool cut_off = leaf.v < before.size() && before[leaf.v] && !after[leaf.v];
    if (!gradient.valid() && !cut_off) continue;
    trained.push_back(wanted[i]);
    grads.push_back(gradient.valid() ? Access::tensor(recording, gradient)
                                     : zeros_like(Access::tensor(recording, leaf), at));
  }
  if (trained.empty())
    trace::refuse(at, "train_step: the loss depends on no parameter that is trained");
}

// Those of the names, and where the loss is scaled all that will be found by name: without the
// scale.
void StepTrace::watch_gradients(const std::vector<std::string>& names, const Values& gradients) {
  const Graph& g = recording->graph();
  std::map<std::string, ValueId> found;
  for (size_t i = 0; i < names.size(); ++i) {
    found[names[i]] = gradients[i];
    if (!gradients[i].valid())
      trace::refuse(at, "watch: %{} has no gradient: the loss doesn't depend on it",
                    names[i].substr(gradient_prefix.size()));
  }
  if (scale.scale.defined())
    for (const std::string& name : watch.missing())
      if (const ValueId v = g.find(name); v.valid() && name.starts_with(gradient_prefix))
        found.emplace(name, v);
  for (const auto& [name, v] : found)
    watch.set(name, scale.scale.defined() ? Access::value(unscaled({Access::tensor(recording, v)},
                                                                   scale.scale, at)[0])
                                          : v);
}

// Gradients of bf16 and f16 are summed in f32, and the sum is rounded once, or not if it is scaled.
void StepTrace::gather() {
  if (part == StepPart::whole) return;
  Tensors sums;
  for (size_t i = 0; i < trained.size(); ++i) {
    const auto& [name, v] = trained[i];
    const std::string sum_name = "optimizer.accumulated." + name;
    const DType type = narrow(v.dtype()) ? DType::f32 : v.dtype();
    const HostTensor zero(type, v.shape());
    const Variable sum = kept(sum_name, zero, VariableKind::state);
    const Tensor next = add(read(sum, sum_name), to(grads[i], type, at), 1, at);
    if (part == StepPart::gathering) {
      write(sum, sum_name, next);
      sums.push_back(next);
    } else {
      write(sum, sum_name, full(v.shape(), 0.0, type, at));
      grads[i] = scale.scale.defined() ? next : to(next, v.dtype(), at);
    }
  }
  const Tensor count = read(micro_step, micro_step_name);
  write(micro_step, micro_step_name,
        part == StepPart::gathering ? add(count, 1, 1, at) : full({}, 0, DType::i64, at));
  if (part != StepPart::gathering || options.on_nonfinite == NonFinite::keep) return;
  if (scale.scale.defined())
    check_finite({}, {});
  else
    check_finite(sums, optim::global_norm(sums, at));
}

// What follows reads the gradients of the loss alone; `found` says that there are none to go by.
void StepTrace::unscale() {
  if (!scale.scale.defined()) return;
  found = any_nonfinite(grads, at).named("found_inf");
  grads = unscaled(grads, scale.scale, at);
}

// The norm of the gradients, if it is asked for, and what is made of it.
void StepTrace::clip() {
  if (!(options.clip_norm >= 0))
    trace::refuse(at, "train_step: clip_norm is {}, expected 0 or more", options.clip_norm);
  const bool guards = options.on_nonfinite != NonFinite::keep;
  const bool checks = guards && !scale.scale.defined();
  if (guards && !checks) check_finite({}, {});
  if (options.clip_norm == 0 && !options.report_grad_norm && !checks) return;
  norm = optim::global_norm(grads, at).named("grad_norm");
  if (checks) norm = check_finite(grads, norm);
  if (options.clip_norm > 0 && !std::isinf(options.clip_norm))
    grads = optim::clip_by_norm(grads, norm, options.clip_norm, at);
}

// Adds the guard; without a norm it is of the loss alone. What is reported of a run that it stops,
// the loss and the norm, is written before it: `opaque` is a call that no pass moves or repeats.
Tensor StepTrace::check_finite(const Tensors& tensors, const Tensor& given) {
  checked = {Access::value(results[0])};
  for (const Tensor& t : tensors) checked.push_back(recording->value_of(t, at));
  if (given.defined()) checked.push_back(Access::value(given));
  const auto written = [&](const Tensor& t) { return trace::record1("opaque", {t}, {}, at); };
  const auto is_finite = [&](const Tensor& t) {
    return lt(abs(reshape(t, {}, at), at), std::numeric_limits<double>::infinity(), at);
  };
  results[0] = written(results[0]);
  const Tensor of = given.defined() ? written(given) : results[0];
  Tensor passes = is_finite(results[0]);
  if (given.defined()) passes = logical_and(passes, is_finite(of), at);
  guard = trace::record1("_functional_assert_async", {passes, of},
                         {{"assert_msg", AttrValue(std::string(not_finite))}}, at);
  return of;
}

void StepTrace::optimize() {
  for (const auto& u : recording->updates())
    for (const auto& [name, v] : trained)
      if (u.variable == v)
        trace::refuse(at,
                      "train_step: %{} is assigned by the model and trained; freeze it "
                      "(set_requires_grad(false)) or make it a buffer",
                      name);
  optim::UpdateState state;
  state.recording = recording;
  state.store = store;
  state.at = at;
  state.step = add(read(step, step_name), 1, 1, at).named("optimizer.step.next");
  for (const ValueId v : learning_rates)
    state.learning_rates.push_back(Access::tensor(recording, v));
  for (size_t i = 0; i < trained.size(); ++i) {
    const auto& [name, v] = trained[i];
    state.parameters.push_back({name, v, grads[i]});
    state.variables.push_back(v);
  }
  optim::UpdateRecorder::record(optimizer, state);
  recording->update(step, Access::value(state.step));
}

// ema = p after the first step, then lerp(ema, p, 1 - decay) as torch.lerp computes it: by one
// formula for weights below 1/2, by another from 1/2 on.
void StepTrace::average() {
  const double decay = options.ema_decay;
  if (decay == 0) return;
  if (!(decay > 0 && decay < 1))
    trace::refuse(at, "train_step: ema_decay is {}, expected 0 <= ema_decay < 1", decay);
  const Variable count = kept(averaged_name, HostTensor(DType::i64, {}), VariableKind::state);
  const Tensor averaged = read(count, averaged_name);
  const Tensor first = eq(averaged, 0, at);
  for (const auto& [name, v] : trained) {
    const std::string ema_name = "ema." + name;
    const DType type = narrow(v.dtype()) ? DType::f32 : v.dtype();
    const Variable ema = kept(ema_name, Access::memory(v).to(type), VariableKind::state);
    Tensor next;
    for (const auto& u : recording->updates())
      if (u.variable == v) next = Access::tensor(recording, u.next);
    next = to(next.defined() ? next : Tensor(v), type, at);
    const Tensor old = read(ema, ema_name);
    const Tensor way = sub(next, old, 1, at);
    const Tensor mixed = decay > 0.5 ? add(old, mul(way, 1 - decay, at), 1, at)
                                     : sub(next, mul(way, decay, at), 1, at);
    write(ema, ema_name, where(first, next, mixed, at));
    averages.emplace_back(v, ema);
  }
  write(count, averaged_name, add(averaged, 1, 1, at));
}

// What was there stays in a step that is skipped, of all that was updated from this one on.
void StepTrace::hold_skipped(size_t first_update) {
  const std::vector<trace::Recording::Update> updates = recording->updates();
  for (size_t k = first_update; k < updates.size(); ++k) {
    const auto tensor = [&](ValueId v) { return Access::tensor(recording, v); };
    const Tensor held = where(found, tensor(updates[k].target), tensor(updates[k].next), at)
                            .named(recording->graph().name(updates[k].target) + ".held");
    recording->update(updates[k].target, Access::value(held));
  }
}

void StepTrace::write_scale() {
  const LossScale next = next_scale(scale, found, options, at);
  write(store.at(scale_name), scale_name, next.scale);
  write(store.at(growth_name), growth_name, next.count);
  write(store.at(skipped_name), skipped_name, next.skipped);
  skipped_steps = next.skipped;
}

Graph StepTrace::close() {
  Graph& g = recording->graph();
  std::vector<Return> returns;
  for (const Tensor& t : results) returns.push_back({recording->value_of(t, at)});
  const auto add = [&](const Tensor& t) {
    returns.push_back({Access::value(t)});
    return returns.size() - 1;
  };
  if (norm.defined()) norm_at = add(norm);
  if (scale.scale.defined()) {
    // In f64, so that they are values of their own beside the state that the step updates.
    scale_at = add(to(scale.scale, DType::f64, at).named("loss_scale"));
    skipped_at = add(to(skipped_steps, DType::f64, at).named("skipped_steps"));
  }
  if (guard.defined()) add(guard);
  advance_random(*recording, at);
  watch.find(g);
  // What only the runs that update the parameters compute is asked for when these are traced.
  if (part != StepPart::gathering) trace::value_or_throw_at(at, watch.require_all(g));
  watched_at = watch.positions(returns.size());
  watch.add_returns(returns);
  for (const auto& u : recording->updates())
    returns.push_back({u.next, ReturnKind::update, u.target});
  g.set_returns(std::move(returns));
  std::vector<ValueId> keep = inputs;
  keep.insert(keep.end(), learning_rates.begin(), learning_rates.end());
  drop_unused(g, keep);
  return recording->close();
}

}  // namespace cleave
