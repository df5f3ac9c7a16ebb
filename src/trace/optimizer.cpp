// The optimizer's view of a step, parameter groups, clipping.
#include <algorithm>

#include "trace/optimizer_update.h"
#include "trace/record.h"

namespace cleave::optim {

const std::vector<Update::Parameter>& Update::parameters() const { return state_->parameters; }
Tensor Update::learning_rate() const {
  if (state_->learning_rates.empty())
    trace::refuse(state_->at, "optimizer: learning_rates() gave none");
  return state_->learning_rates.front();
}
Tensor Update::step() const { return state_->step; }

namespace {

// The state tensor `optimizer.KEY.NAME`; created and filled with `initial` if the store has none.
Variable state_variable(UpdateState& s, const std::string& key, const Update::Parameter& of,
                        double initial) {
  const std::string name = s.optimizer_state_name(key, of);
  Variable v = s.store.find(name);
  if (!v.defined()) {
    HostTensor value(of.value.dtype(), of.value.sizes());
    for (int64_t k = 0; initial != 0 && k < value.numel(); ++k) value.set_number(k, initial);
    v = Variable(name, std::move(value), VariableKind::state);
    s.store.add(name, v);
  }
  if (v.dtype() != of.value.dtype() || v.shape() != of.value.sizes())
    trace::refuse(s.at, "optimizer: the store's {} is {}, expected {}", name,
                  trace::Access::host(v).type_text(), of.value.type_text());
  return v;
}

}  // namespace

Tensor Update::state(const std::string& key, const Parameter& of, double initial) {
  const Variable v = state_variable(*state_, key, of, initial);
  const ValueId id = state_->recording->declare(v, state_->optimizer_state_name(key, of));
  return trace::Access::tensor(state_->recording, id);
}

void Update::set_state(const std::string& key, const Parameter& of, const Tensor& next) {
  state(key, of);  // declares it
  next.named(state_->optimizer_state_name(key, of) + ".next");
  state_->recording->update(state_variable(*state_, key, of, 0),
                            state_->recording->value_of(next, state_->at));
}

void Update::set(const Parameter& of, const Tensor& next) {
  for (size_t i = 0; i < state_->parameters.size(); ++i) {
    if (state_->parameters[i].name != of.name) continue;
    next.named(of.name + ".next");
    state_->recording->update(state_->variables[i], state_->recording->value_of(next, state_->at));
    return;
  }
  trace::refuse(state_->at, "optimizer: {} is no parameter of this update", of.name);
}

namespace {

struct Named {
  std::string prefix;
  bool operator()(const std::string& name, const Tensor&) const { return name.starts_with(prefix); }
};
struct Others {
  bool operator()(const std::string&, const Tensor&) const { return true; }
};

// A group that selects nothing is a name that is misspelled; nothing may be left for others().
void refuse_empty_group(const std::vector<Group>& groups, size_t g,
                        const std::vector<Update::Parameter>& all, Location at) {
  if (groups[g].selects.target<Others>()) return;
  const Named* named = groups[g].selects.target<Named>();
  std::string names;
  for (size_t i = 0; i < all.size() && i < 8; ++i) names += (i ? ", " : "") + all[i].name;
  if (all.size() > 8) names += ", ...";
  trace::refuse(at, "optim::Groups: group {}{} selects no parameter that is left; trained are {}",
                g, named ? fmt::format(", named(\"{}\"),", named->prefix) : "", names);
}

}  // namespace

ParameterFilter named(std::string prefix) { return Named{std::move(prefix)}; }
ParameterFilter others() { return Others(); }

Groups::Groups(std::vector<Group> groups, Location at) : groups_(std::move(groups)), at_(at) {
  if (groups_.empty()) trace::refuse(at, "optim::Groups: there is no group");
  for (const Group& g : groups_)
    if (!g.selects) trace::refuse(at, "optim::Groups: a group's `selects` is empty");
}

std::vector<double> Groups::learning_rates() const {
  std::vector<double> out;
  for (const Group& g : groups_)
    for (const double lr : g.optimizer->learning_rates()) out.push_back(lr);
  return out;
}

void Groups::record(Update& update) const {
  const UpdateState& all = UpdateRecorder::state(update);
  std::vector<UpdateState> parts(groups_.size());
  for (size_t i = 0; i < all.parameters.size(); ++i) {
    const Update::Parameter& p = all.parameters[i];
    const auto group =
        std::ranges::find_if(groups_, [&](const Group& g) { return g.selects(p.name, p.value); });
    if (group == groups_.end())
      trace::refuse(at_,
                    "optim::Groups: no group selects {}; freeze it or add a group with others()",
                    p.name);
    UpdateState& part = parts[group - groups_.begin()];
    part.parameters.push_back(p);
    part.variables.push_back(all.variables[i]);
  }
  auto lr = all.learning_rates.begin();
  for (size_t g = 0; g < groups_.size(); ++g) {
    UpdateState& part = parts[g];
    if (part.parameters.empty()) refuse_empty_group(groups_, g, all.parameters, at_);
    const auto count = static_cast<std::ptrdiff_t>(groups_[g].optimizer->learning_rates().size());
    part.learning_rates.assign(lr, lr + count);
    lr += count;
    part.recording = all.recording;
    part.store = all.store;
    part.at = all.at;
    part.step = all.step;
    UpdateRecorder::record(*groups_[g].optimizer, part);
  }
}

Tensor global_norm(const Tensors& tensors, Location at) {
  const bool wide =
      std::ranges::any_of(tensors, [](const Tensor& t) { return t.dtype() == DType::f64; });
  const DType type = wide ? DType::f64 : DType::f32;
  // The norm of the norms, as torch.nn.utils.clip_grad_norm_ computes it.
  Tensors norms;
  for (const Tensor& t : tensors)
    norms.push_back(view(trace::record1("linalg_vector_norm", {to(t, type, at)}, {}, at), {1}, at));
  if (norms.empty()) return zeros({}, type, at);
  return trace::record1("linalg_vector_norm", {cat(norms, 0, at)}, {}, at);
}

Tensors clip_by_norm(const Tensors& tensors, const Tensor& norm, double max_norm, Location at) {
  if (!(max_norm > 0)) trace::refuse(at, "clip_by_norm: max_norm is {}, expected > 0", max_norm);
  const Tensor ratio = div(max_norm, add(norm, 1e-6, 1, at), "", at);
  const Tensor factor = clamp(ratio, std::nullopt, Number(1.0), at);
  Tensors out;
  for (const Tensor& t : tensors) {
    const Tensor f = to(factor, t.dtype() == DType::f64 ? DType::f64 : DType::f32, at);
    out.push_back(mul(t, f, at));
  }
  return out;
}

}  // namespace cleave::optim
