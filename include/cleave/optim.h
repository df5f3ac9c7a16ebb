// Optimizers: they record how a training step updates the parameters, so that the whole step is one
// program. Formulas, defaults and names are those of torch.optim (PyTorch 2.13).
//
//   optim::AdamW adamw({.lr = 3e-4, .weight_decay = 0.1});
//   TrainStep step = train_step(model, loss, adamw, ...);
//   step.set_learning_rate(optim::cosine(i, 3e-4, 100, 1000));    // an input: nothing recompiles
//
// State tensors are in the step's Store as `optimizer.KEY.NAME`, next to the step count,
// `optimizer.step`. Parameters of bf16 and f16 are updated in f32 and rounded once.
#pragma once
#include <concepts>
#include <functional>
#include <memory>
#include <string>

#include "cleave/function.h"

namespace cleave::optim {

struct UpdateState;

// What an optimizer sees while a training step is traced. The Tensors belong to the program;
// functions of them record into it.
class CLEAVE_API Update {
 public:
  struct Parameter {
    std::string name;
    Tensor value;
    Tensor grad;  // clipped, if the step clips
  };
  // The parameters that the loss depends on and that aren't frozen.
  const std::vector<Parameter>& parameters() const;
  Tensor learning_rate() const;  // f64[]
  Tensor step() const;           // i64[]: 1 in the first step
  // A state tensor of the parameter's type, filled with `initial` before the first step.
  Tensor state(const std::string& key, const Parameter& of, double initial = 0);
  // Sets values after the step; a Variable that isn't set keeps its value.
  void set_state(const std::string& key, const Parameter& of, const Tensor& next);
  void set(const Parameter& of, const Tensor& next);

 private:
  friend class UpdateRecorder;
  explicit Update(UpdateState& state) : state_(&state) {}
  UpdateState* state_;
};

class CLEAVE_API Optimizer {
 public:
  virtual ~Optimizer() = default;
  // Called once, while a training step is traced.
  virtual void record(Update& update) const = 0;
  // The initial value of TrainStep::learning_rate.
  virtual double learning_rate() const = 0;
  // One for each group of parameters.
  virtual std::vector<double> learning_rates() const { return {learning_rate()}; }
};

// Returns whether it selects a parameter.
using ParameterFilter = std::function<bool(const std::string& name, const Tensor& value)>;
// Which parameters weight decay applies to; all of them if empty.
//   .decays = [](const std::string&, const Tensor& p) { return p.dim() >= 2; }
using Decays = ParameterFilter;

// Groups of parameters, each with an optimizer, or options, and a learning rate of its own:
//   optim::Groups({{optim::named("head."), optim::AdamW({.lr = 1e-3})},
//                  {optim::others(), optim::SGD({.lr = 1e-2, .momentum = 0.9})}})
//   step.set_learning_rate(1, 5e-3);
// A parameter belongs to the first group that selects it. Errors (user): no group selects it; a
// group other than others() selects none.
struct CLEAVE_API Group {
  ParameterFilter selects;
  std::shared_ptr<const Optimizer> optimizer;
  template <std::derived_from<Optimizer> O>
  Group(ParameterFilter which, O how)
      : selects(std::move(which)), optimizer(std::make_shared<O>(std::move(how))) {}
};
// named: parameters whose names start with the prefix; others: all that no earlier group selects.
CLEAVE_API ParameterFilter named(std::string prefix);
CLEAVE_API ParameterFilter others();
class CLEAVE_API Groups : public Optimizer {
 public:
  explicit Groups(std::vector<Group> groups, Location at = Location::current());
  void record(Update& update) const override;
  double learning_rate() const override { return learning_rates().front(); }
  std::vector<double> learning_rates() const override;

 private:
  std::vector<Group> groups_;
  Location at_;
};

// g += weight_decay p;  b = momentum b + (1 - dampening) g, b = g in the first step;
// g = nesterov ? g + momentum b : b;  p -= lr g
class CLEAVE_API SGD : public Optimizer {
 public:
  struct Options {
    double lr = 1e-3;
    double momentum = 0;
    double weight_decay = 0;
    bool nesterov = false;
    Decays decays = {};
    double dampening = 0;
  };
  explicit SGD(Options options, Location at = Location::current());
  void record(Update& update) const override;
  double learning_rate() const override { return options_.lr; }

 private:
  Options options_;
  Location at_;
};

// m += (1 - beta1)(g - m);  v = beta2 v + (1 - beta2) g^2
// p -= lr / (1 - beta1^t) m / (sqrt(v) / sqrt(1 - beta2^t) + eps)
// Adam adds weight_decay p to g; AdamW first multiplies p by 1 - lr weight_decay. With amsgrad the
// largest v so far replaces v in the last line (state max_exp_avg_sq).
struct AdamOptions {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
  Decays decays = {};
  bool amsgrad = false;
};
class CLEAVE_API Adam : public Optimizer {
 public:
  explicit Adam(AdamOptions options, Location at = Location::current());
  void record(Update& update) const override;
  double learning_rate() const override { return options_.lr; }

 protected:
  Adam(AdamOptions options, bool decoupled, const char* name, Location at);

 private:
  AdamOptions options_;
  bool decoupled_ = false;
  Location at_;
};

class CLEAVE_API AdamW : public Adam {
 public:
  struct Options {
    double lr = 1e-3;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double eps = 1e-8;
    double weight_decay = 1e-2;
    Decays decays = {};
    bool amsgrad = false;
  };
  explicit AdamW(Options options, Location at = Location::current());
};

// g += weight_decay p;  s = alpha s + (1 - alpha) g^2
// centered: a += (1 - alpha)(g - a), and s - a^2 replaces s
// d = g / (sqrt(s) + eps);  with momentum b = momentum b + d, p -= lr b;  else p -= lr d
class CLEAVE_API RMSprop : public Optimizer {
 public:
  struct Options {
    double lr = 1e-2;
    double alpha = 0.99;
    double eps = 1e-8;
    double weight_decay = 0;
    double momentum = 0;
    bool centered = false;
    Decays decays = {};
  };
  explicit RMSprop(Options options, Location at = Location::current());
  void record(Update& update) const override;
  double learning_rate() const override { return options_.lr; }

 private:
  Options options_;
  Location at_;
};

// g += weight_decay p;  s += g^2;  p -= lr / (1 + (t - 1) lr_decay) g / (sqrt(s) + eps)
class CLEAVE_API Adagrad : public Optimizer {
 public:
  struct Options {
    double lr = 1e-2;
    double lr_decay = 0;
    double weight_decay = 0;
    double initial_accumulator_value = 0;
    double eps = 1e-10;
    Decays decays = {};
  };
  explicit Adagrad(Options options, Location at = Location::current());
  void record(Update& update) const override;
  double learning_rate() const override { return options_.lr; }

 private:
  Options options_;
  Location at_;
};

// The square root of the sum of all squares of all tensors, in f32 (f64 if one of them is f64).
CLEAVE_API Tensor global_norm(const Tensors& tensors, Location at = Location::current());
// Returns each tensor times min(1, max_norm / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_.
CLEAVE_API Tensors clip_by_norm(const Tensors& tensors, const Tensor& norm, double max_norm,
                                Location at = Location::current());

// ---- learning rates by step, counted from 0: up from peak/warmup to peak in `warmup` steps, then
// as the name says, down to `final` at step `total`.
CLEAVE_API double constant(int64_t step, double peak, int64_t warmup = 0);
CLEAVE_API double linear(int64_t step, double peak, int64_t warmup, int64_t total,
                         double final = 0);
CLEAVE_API double cosine(int64_t step, double peak, int64_t warmup, int64_t total,
                         double final = 0);

}  // namespace cleave::optim
