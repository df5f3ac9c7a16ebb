// Optimizers as graphs. Numbers shared by all parameters (bias corrections, step sizes) are
// computed once, in f64 as PyTorch computes them in Python, and rounded once to the parameters'
// arithmetic type. The arithmetic of each optimizer is that of torch.optim's single-tensor form.
#include "trace/optimizer_update.h"
#include "trace/record.h"

namespace cleave::optim {
namespace {

// The type in which a parameter is updated.
DType arithmetic_of(DType t) { return t == DType::f64 ? DType::f64 : DType::f32; }

// A number of the step in the types that parameters need, each converted once.
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

void require_range(const char* optimizer, const char* what, double value, bool ok,
                   const char* expected, Location at) {
  if (!ok) trace::refuse(at, "optim::{}: {} is {}, expected {}", optimizer, what, value, expected);
}

bool decays(const Decays& rule, double weight_decay, const Update::Parameter& p) {
  return weight_decay != 0 && (!rule || rule(p.name, p.value));
}

// One parameter in its arithmetic type, and its conversion back to the stored type.
struct Stepped {
  Update& update;
  const Update::Parameter& p;
  Location at;
  DType type = arithmetic_of(p.value.dtype());
  Tensor value = to(p.value, type, at);
  Tensor grad = to(p.grad, type, at);

  void decay(const Decays& rule, double weight_decay) {
    if (decays(rule, weight_decay, p)) grad = add(grad, mul(value, weight_decay, at), 1, at);
  }
  Tensor state(const std::string& key, double initial = 0) const {
    return to(update.state(key, p, initial), type, at);
  }
  void keep(const std::string& key, const Tensor& next) const {
    update.set_state(key, p, to(next, p.value.dtype(), at));
  }
  void set(const Tensor& next) const { update.set(p, to(next, p.value.dtype(), at)); }
};

}  // namespace

SGD::SGD(Options options, Location at) : options_(std::move(options)), at_(at) {
  const Options& o = options_;
  require_range("SGD", "lr", o.lr, o.lr >= 0, "0 or more", at);
  require_range("SGD", "momentum", o.momentum, o.momentum >= 0, "0 or more", at);
  require_range("SGD", "weight_decay", o.weight_decay, o.weight_decay >= 0, "0 or more", at);
  require_range("SGD", "momentum of nesterov", o.momentum, !o.nesterov || o.momentum > 0,
                "more than 0", at);
  require_range("SGD", "dampening of nesterov", o.dampening, !o.nesterov || o.dampening == 0, "0",
                at);
}

void SGD::record(Update& update) const {
  const Options& o = options_;
  StepNumber lr(update.learning_rate(), at_);
  Tensor share;  // the gradient's weight in the buffer: 1 in the first step
  if (o.momentum != 0 && o.dampening != 0)
    share = where(eq(update.step(), 1, at_), full({}, 1.0, DType::f64, at_),
                  full({}, 1 - o.dampening, DType::f64, at_), at_);
  StepNumber damped(share, at_);
  for (const Update::Parameter& p : update.parameters()) {
    Stepped s{update, p, at_};
    s.decay(o.decays, o.weight_decay);
    Tensor way = s.grad;
    if (o.momentum != 0) {
      const Tensor new_part = share.defined() ? mul(s.grad, damped.in(s.type), at_) : s.grad;
      const Tensor buffer = add(mul(s.state("momentum_buffer"), o.momentum, at_), new_part, 1, at_);
      s.keep("momentum_buffer", buffer);
      way = o.nesterov ? add(s.grad, mul(buffer, o.momentum, at_), 1, at_) : buffer;
    }
    s.set(sub(s.value, mul(way, lr.in(s.type), at_), 1, at_));
  }
}

Adam::Adam(AdamOptions options, Location at) : Adam(std::move(options), false, "Adam", at) {}

Adam::Adam(AdamOptions options, bool decoupled, const char* name, Location at)
    : options_(std::move(options)), decoupled_(decoupled), at_(at) {
  const AdamOptions& o = options_;
  require_range(name, "lr", o.lr, o.lr >= 0, "0 or more", at);
  require_range(name, "beta1", o.beta1, o.beta1 >= 0 && o.beta1 < 1, "a number in [0, 1)", at);
  require_range(name, "beta2", o.beta2, o.beta2 >= 0 && o.beta2 < 1, "a number in [0, 1)", at);
  require_range(name, "eps", o.eps, o.eps >= 0, "0 or more", at);
  require_range(name, "weight_decay", o.weight_decay, o.weight_decay >= 0, "0 or more", at);
}

AdamW::AdamW(Options o, Location at)
    : Adam({o.lr, o.beta1, o.beta2, o.eps, o.weight_decay, std::move(o.decays), o.amsgrad}, true,
           "AdamW", at) {}

namespace {

// The numbers of adam_step, for the variant whose denominator uses the largest v so far.
struct AmsgradNumbers {
  const AdamOptions& options;
  Tensor step_size, root, keep;  // keep may be undefined
};

void amsgrad_step(const Stepped& s, const AmsgradNumbers& n, Location at) {
  const AdamOptions& o = n.options;
  const Tensor m0 = s.state("exp_avg"), v0 = s.state("exp_avg_sq");
  const Tensor m = add(m0, mul(sub(s.grad, m0, 1, at), 1 - o.beta1, at), 1, at);
  const Tensor v = add(mul(v0, o.beta2, at), mul(mul(s.grad, 1 - o.beta2, at), s.grad, at), 1, at);
  const Tensor largest = maximum(s.state("max_exp_avg_sq"), v, at);
  s.keep("exp_avg", m);
  s.keep("exp_avg_sq", v);
  s.keep("max_exp_avg_sq", largest);
  const Tensor below = add(div(sqrt(largest, at), n.root, "", at), o.eps, 1, at);
  const Tensor value = n.keep.defined() ? mul(s.value, n.keep, at) : s.value;
  s.set(sub(value, div(mul(m, n.step_size, at), below, "", at), 1, at));
}

}  // namespace

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
    Stepped s{update, p, at_};
    if (!decoupled_) s.decay(o.decays, o.weight_decay);
    const bool shrinks = decoupled_ && decays(o.decays, o.weight_decay, p);
    const Tensor keep = shrinks ? kept.in(s.type) : Tensor();
    if (o.amsgrad) {
      amsgrad_step(s, {o, step_size.in(s.type), root.in(s.type), keep}, at_);
      continue;
    }
    const Tensor m = s.state("exp_avg"), v = s.state("exp_avg_sq");
    const Tensors next = trace::record(
        "adam_step", {s.value, s.grad, m, v, step_size.in(s.type), root.in(s.type), keep},
        {{"beta1", o.beta1}, {"beta2", o.beta2}, {"eps", o.eps}}, at_);
    s.keep("exp_avg", next[1]);
    s.keep("exp_avg_sq", next[2]);
    s.set(next[0]);
  }
}

RMSprop::RMSprop(Options options, Location at) : options_(std::move(options)), at_(at) {
  const Options& o = options_;
  require_range("RMSprop", "lr", o.lr, o.lr >= 0, "0 or more", at);
  require_range("RMSprop", "alpha", o.alpha, o.alpha >= 0, "0 or more", at);
  require_range("RMSprop", "eps", o.eps, o.eps >= 0, "0 or more", at);
  require_range("RMSprop", "weight_decay", o.weight_decay, o.weight_decay >= 0, "0 or more", at);
  require_range("RMSprop", "momentum", o.momentum, o.momentum >= 0, "0 or more", at);
}

void RMSprop::record(Update& update) const {
  const Options& o = options_;
  StepNumber lr(update.learning_rate(), at_);
  for (const Update::Parameter& p : update.parameters()) {
    Stepped s{update, p, at_};
    s.decay(o.decays, o.weight_decay);
    const Tensor square = add(mul(s.state("square_avg"), o.alpha, at_),
                              mul(mul(s.grad, 1 - o.alpha, at_), s.grad, at_), 1, at_);
    s.keep("square_avg", square);
    Tensor variance = square;
    if (o.centered) {
      const Tensor old = s.state("grad_avg");
      const Tensor way = sub(s.grad, old, 1, at_);
      // As torch.lerp: starts from the nearer end.
      const Tensor mean = o.alpha > 0.5 ? add(old, mul(way, 1 - o.alpha, at_), 1, at_)
                                        : sub(s.grad, mul(way, o.alpha, at_), 1, at_);
      s.keep("grad_avg", mean);
      variance = sub(square, mul(mean, mean, at_), 1, at_);
    }
    const Tensor way = div(s.grad, add(sqrt(variance, at_), o.eps, 1, at_), "", at_);
    if (o.momentum == 0) {
      s.set(sub(s.value, mul(way, lr.in(s.type), at_), 1, at_));
      continue;
    }
    const Tensor buffer = add(mul(s.state("momentum_buffer"), o.momentum, at_), way, 1, at_);
    s.keep("momentum_buffer", buffer);
    s.set(sub(s.value, mul(buffer, lr.in(s.type), at_), 1, at_));
  }
}

Adagrad::Adagrad(Options options, Location at) : options_(std::move(options)), at_(at) {
  const Options& o = options_;
  require_range("Adagrad", "lr", o.lr, o.lr >= 0, "0 or more", at);
  require_range("Adagrad", "lr_decay", o.lr_decay, o.lr_decay >= 0, "0 or more", at);
  require_range("Adagrad", "weight_decay", o.weight_decay, o.weight_decay >= 0, "0 or more", at);
  require_range("Adagrad", "initial_accumulator_value", o.initial_accumulator_value,
                o.initial_accumulator_value >= 0, "0 or more", at);
  require_range("Adagrad", "eps", o.eps, o.eps >= 0, "0 or more", at);
}

void Adagrad::record(Update& update) const {
  const Options& o = options_;
  Tensor rate = update.learning_rate();
  if (o.lr_decay != 0) {
    const Tensor before = to(sub(update.step(), 1, 1, at_), DType::f64, at_);
    rate = div(rate, add(mul(before, o.lr_decay, at_), 1.0, 1, at_), "", at_);
  }
  StepNumber lr(rate, at_);
  for (const Update::Parameter& p : update.parameters()) {
    Stepped s{update, p, at_};
    s.decay(o.decays, o.weight_decay);
    const Tensor total =
        add(s.state("sum", o.initial_accumulator_value), mul(s.grad, s.grad, at_), 1, at_);
    s.keep("sum", total);
    const Tensor way = div(s.grad, add(sqrt(total, at_), o.eps, 1, at_), "", at_);
    s.set(sub(s.value, mul(way, lr.in(s.type), at_), 1, at_));
  }
}

}  // namespace cleave::optim
