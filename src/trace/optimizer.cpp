// Optimizers as graphs. Numbers that are the same for all parameters (bias corrections, step sizes)
// are computed once, in f64 as PyTorch computes them in Python, and rounded once to the parameters'
// arithmetic type.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "trace/optimizer_update.h"
#include "trace/record.h"

namespace cleave::optim {

const std::vector<Update::Parameter>& Update::parameters() const { return state_->parameters; }
Tensor Update::learning_rate() const { return state_->learning_rate; }
Tensor Update::step() const { return state_->step; }

namespace {

// The state tensor `optimizer.KEY.NAME`, made with zeros where the store has none.
Variable state_variable(UpdateState& s, const std::string& key, const Update::Parameter& of) {
  const std::string name = s.optimizer_state_name(key, of);
  Variable v = s.store.find(name);
  if (!v.defined()) {
    v = Variable(name, HostTensor(of.value.dtype(), of.value.sizes()), VariableKind::state);
    s.store.add(name, v);
  }
  if (v.dtype() != of.value.dtype() || v.shape() != of.value.sizes())
    trace::refuse(s.at, "optimizer: the store's {} is {}, expected {}", name, v.value().type_text(),
                  of.value.type_text());
  return v;
}

}  // namespace

Tensor Update::state(const std::string& key, const Parameter& of) {
  const Variable v = state_variable(*state_, key, of);
  const ValueId id = state_->recording->declare(v, state_->optimizer_state_name(key, of));
  return trace::Access::tensor(state_->recording, id);
}

void Update::set_state(const std::string& key, const Parameter& of, const Tensor& next) {
  state(key, of);  // declares it
  next.named(state_->optimizer_state_name(key, of) + ".next");
  state_->recording->update(state_variable(*state_, key, of),
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

// The type that a parameter is stepped in.
DType arithmetic_of(DType t) { return t == DType::f64 ? DType::f64 : DType::f32; }

// A number of the step in the types that parameters need, each made once.
class StepNumber {
 public:
  StepNumber(Tensor value, Location at) : value_(std::move(value)), at_(at) {}
  const Tensor& in(DType t) {
    if (t == DType::f64) return value_;
    if (!narrow_.defined()) narrow_ = to(value_, DType::f32, at_);
    return narrow_;
  }

 private:
  Tensor value_, narrow_;
  Location at_;
};

bool decays(const Decays& rule, double weight_decay, const Update::Parameter& p) {
  return weight_decay != 0 && (!rule || rule(p.name, p.value));
}

void require_range(const char* optimizer, const char* what, double value, bool ok, Location at) {
  if (!ok) trace::refuse(at, "optim::{}: {} is {}, which is out of range", optimizer, what, value);
}

}  // namespace

SGD::SGD(Options options, Location at) : options_(std::move(options)), at_(at) {
  require_range("SGD", "lr", options_.lr, options_.lr >= 0, at);
  require_range("SGD", "momentum", options_.momentum, options_.momentum >= 0, at);
  require_range("SGD", "weight_decay", options_.weight_decay, options_.weight_decay >= 0, at);
  require_range("SGD", "momentum of nesterov", options_.momentum,
                !options_.nesterov || options_.momentum > 0, at);
}

void SGD::record(Update& update) const {
  StepNumber lr(update.learning_rate(), at_);
  for (const Update::Parameter& p : update.parameters()) {
    const DType type = arithmetic_of(p.value.dtype());
    const Tensor value = to(p.value, type, at_);
    Tensor grad = to(p.grad, type, at_);
    if (decays(options_.decays, options_.weight_decay, p))
      grad = add(grad, mul(value, options_.weight_decay, at_), 1, at_);
    if (options_.momentum != 0) {
      const Tensor old = to(update.state("momentum_buffer", p), type, at_);
      const Tensor buffer = add(mul(old, options_.momentum, at_), grad, 1, at_);
      update.set_state("momentum_buffer", p, to(buffer, p.value.dtype(), at_));
      grad = options_.nesterov ? add(grad, mul(buffer, options_.momentum, at_), 1, at_) : buffer;
    }
    const Tensor next = sub(value, mul(grad, lr.in(type), at_), 1, at_);
    update.set(p, to(next, p.value.dtype(), at_));
  }
}

Adam::Adam(AdamOptions options, Location at) : Adam(std::move(options), false, "Adam", at) {}

Adam::Adam(AdamOptions options, bool decoupled, const char* name, Location at)
    : options_(std::move(options)), decoupled_(decoupled), at_(at) {
  const AdamOptions& o = options_;
  require_range(name, "lr", o.lr, o.lr >= 0, at);
  require_range(name, "beta1", o.beta1, o.beta1 >= 0 && o.beta1 < 1, at);
  require_range(name, "beta2", o.beta2, o.beta2 >= 0 && o.beta2 < 1, at);
  require_range(name, "eps", o.eps, o.eps >= 0, at);
  require_range(name, "weight_decay", o.weight_decay, o.weight_decay >= 0, at);
}

AdamW::AdamW(Options o, Location at)
    : Adam({o.lr, o.beta1, o.beta2, o.eps, o.weight_decay, std::move(o.decays)}, true, "AdamW",
           at) {}

void Adam::record(Update& update) const {
  if (update.parameters().empty()) return;
  const AdamOptions& o = options_;
  const Tensor lr = update.learning_rate();
  const Tensor step = to(update.step(), DType::f64, at_);
  const Tensor correction1 = sub(1.0, pow(o.beta1, step, at_), 1, at_);
  const Tensor correction2 = sub(1.0, pow(o.beta2, step, at_), 1, at_);
  StepNumber step_size(div(lr, correction1, "", at_), at_);
  StepNumber root(sqrt(correction2, at_), at_);
  StepNumber kept(sub(1.0, mul(lr, o.weight_decay, at_), 1, at_), at_);

  for (const Update::Parameter& p : update.parameters()) {
    const DType stored = p.value.dtype(), type = arithmetic_of(stored);
    const Tensor value = to(p.value, type, at_);
    Tensor grad = to(p.grad, type, at_);
    if (!decoupled_ && decays(o.decays, o.weight_decay, p))
      grad = add(grad, mul(value, o.weight_decay, at_), 1, at_);
    const Tensor m = to(update.state("exp_avg", p), type, at_);
    const Tensor v = to(update.state("exp_avg_sq", p), type, at_);
    const bool shrinks = decoupled_ && decays(o.decays, o.weight_decay, p);
    const Tensors next = trace::record(
        "adam_step",
        {value, grad, m, v, step_size.in(type), root.in(type), shrinks ? kept.in(type) : Tensor()},
        {{"beta1", o.beta1}, {"beta2", o.beta2}, {"eps", o.eps}}, at_);
    update.set_state("exp_avg", p, to(next[1], stored, at_));
    update.set_state("exp_avg_sq", p, to(next[2], stored, at_));
    update.set(p, to(next[0], stored, at_));
  }
}

Tensor global_norm(const Tensors& tensors, Location at) {
  const bool wide =
      std::ranges::any_of(tensors, [](const Tensor& t) { return t.dtype() == DType::f64; });
  const DType type = wide ? DType::f64 : DType::f32;
  // The norm of the norms, as torch.nn.utils.clip_grad_norm_ takes it.
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
    const Tensor f = to(factor, arithmetic_of(t.dtype()), at);
    out.push_back(mul(t, f, at));
  }
  return out;
}

namespace {

double warmed_up(int64_t step, double peak, int64_t warmup) {
  return peak * static_cast<double>(step + 1) / static_cast<double>(warmup);
}

// 0 at the end of the warm-up, 1 at `total`.
double progress(int64_t step, int64_t warmup, int64_t total) {
  return static_cast<double>(step - warmup) / static_cast<double>(total - warmup);
}

}  // namespace

double constant(int64_t step, double peak, int64_t warmup) {
  return step < warmup ? warmed_up(step, peak, warmup) : peak;
}

double linear(int64_t step, double peak, int64_t warmup, int64_t total, double final) {
  if (step < warmup) return warmed_up(step, peak, warmup);
  if (step >= total) return final;
  return std::lerp(peak, final, progress(step, warmup, total));
}

double cosine(int64_t step, double peak, int64_t warmup, int64_t total, double final) {
  if (step < warmup) return warmed_up(step, peak, warmup);
  if (step >= total) return final;
  return final +
         (peak - final) * 0.5 * (1 + std::cos(std::numbers::pi * progress(step, warmup, total)));
}

}  // namespace cleave::optim
