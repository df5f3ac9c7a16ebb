// RNN, GRU and LSTM, one step after the other.
//
//   x[t,b,i] (or [b,t,i])   w[d,g*h,i]   r[d,g*h,h]   bias[d,2*g*h]     g gates, d directions
//   y[t,d,b,h]              y_h[d,b,h]   y_c[d,b,h]
//
// All products with x are one product before the steps. A step behind the end of its line
// (sequence_lens) keeps the state and gives 0.
#include "import/onnx/rules.h"

namespace cleave::onnx {
namespace {

constexpr int64_t most_steps = 2048;

// The activations by their names, with alpha and beta where they take some.
Result<V> activation(Call& c, const std::string& name, V x, std::optional<double> alpha,
                     std::optional<double> beta) {
  if (name == "Sigmoid") return c.op("sigmoid", {x});
  if (name == "Tanh") return c.op("tanh", {x});
  if (name == "Relu") return c.op("relu", {x});
  if (name == "Affine") return c.add(c.mul(x, alpha.value_or(1)), beta.value_or(0));
  if (name == "LeakyRelu")
    return c.op("leaky_relu", {x}, {{"negative_slope", alpha.value_or(0.01)}});
  if (name == "ThresholdedRelu") return c.where(c.op("gt", {x, alpha.value_or(1)}), x, 0.0);
  if (name == "ScaledTanh")
    return c.mul(c.op("tanh", {c.mul(x, beta.value_or(1))}), alpha.value_or(1));
  if (name == "HardSigmoid")
    return c.op("clamp", {c.add(c.mul(x, alpha.value_or(0.2)), beta.value_or(0.5)), 0.0, 1.0});
  if (name == "Elu") return c.op("elu", {x}, {{"alpha", alpha.value_or(1)}});
  if (name == "Softsign") return c.div(x, c.add(c.op("abs", {x}), 1.0));
  if (name == "Softplus") return c.op("softplus", {x});
  return unsupported("the activation {}", name);
}

class Recurrent {
 public:
  Recurrent(Call& c, int64_t gates, std::vector<std::string> activations)
      : c_(c), gates_(gates), activations_(std::move(activations)) {}

  Status run();

 private:
  struct State {
    V h, cell;
  };
  Status run_direction(size_t d, bool reverse);
  Result<State> step(V x, State s, V r, V bias, V peephole);
  Result<V> active(size_t k, V x) {
    const size_t at = offset_ + k;
    return activation(c_, activations_[at], clipped(x), number("activation_alpha", at),
                      number("activation_beta", at));
  }
  std::optional<double> number(const char* name, size_t at) const {
    const std::vector<double> all = c_.reals(name);
    return at < all.size() ? std::optional(all[at]) : std::nullopt;
  }
  V clipped(V x) {
    const double clip = c_.real("clip");
    return clip > 0 ? c_.op("clamp", {x, -clip, clip}) : x;
  }
  V gate(V all, int64_t k) { return c_.slice(all, 1, hidden_ * Dim(k), hidden_ * Dim(k + 1)); }

  Call& c_;
  int64_t gates_;
  std::vector<std::string> activations_;  // of one direction after the other
  size_t offset_ = 0;
  int64_t steps_ = 0;
  Dim batch_, hidden_;
  V x_;  // [t,b,i]
  Values y_, y_h_, y_c_;
};

Result<Recurrent::State> Recurrent::step(V x, State s, V r, V bias, V peephole) {
  const auto peep = [&](int64_t k, V cell) {
    return c_.mul(c_.slice(peephole, 0, hidden_ * Dim(k), hidden_ * Dim(k + 1)), cell);
  };
  if (gates_ == 1) {
    CLEAVE_TRY(const V h, active(0, c_.add(x, c_.op("addmm", {bias, s.h, r}))));
    return State{h, {}};
  }
  if (gates_ == 3) {
    const V zr = c_.add(c_.slice(x, 1, 0, hidden_ * Dim(2)),
                        c_.op("addmm", {c_.slice(bias, 0, 0, hidden_ * Dim(2)), s.h,
                                        c_.slice(r, 1, 0, hidden_ * Dim(2))}));
    CLEAVE_TRY(const V z, active(0, gate(zr, 0)));
    CLEAVE_TRY(const V reset, active(0, gate(zr, 1)));
    const V rh = c_.slice(r, 1, hidden_ * Dim(2), hidden_ * Dim(3));
    const V bh = c_.slice(bias, 0, hidden_ * Dim(2), hidden_ * Dim(3));
    const V back = c_.integer("linear_before_reset") != 0
                       ? c_.mul(reset, c_.op("addmm", {bh, s.h, rh}))
                       : c_.op("addmm", {bh, c_.mul(reset, s.h), rh});
    CLEAVE_TRY(const V next, active(1, c_.add(gate(x, 2), back)));
    return State{c_.add(c_.mul(c_.sub(1.0, z), next), c_.mul(z, s.h)), {}};
  }
  const V all = c_.add(x, c_.op("addmm", {bias, s.h, r}));  // i, o, f, c
  V i = gate(all, 0), o = gate(all, 1), f = gate(all, 2);
  if (peephole.valid()) i = c_.add(i, peep(0, s.cell));
  CLEAVE_TRY(i, active(0, i));
  if (c_.integer("input_forget") != 0) {
    f = c_.sub(1.0, i);
  } else {
    if (peephole.valid()) f = c_.add(f, peep(2, s.cell));
    CLEAVE_TRY(f, active(0, f));
  }
  CLEAVE_TRY(const V g, active(1, gate(all, 3)));
  const V cell = c_.add(c_.mul(f, s.cell), c_.mul(i, g));
  if (peephole.valid()) o = c_.add(o, peep(1, cell));
  CLEAVE_TRY(o, active(0, o));
  CLEAVE_TRY(const V out, active(2, cell));
  return State{c_.mul(o, out), cell};
}

Status Recurrent::run_direction(size_t d, bool reverse) {
  const bool by_batch = c_.integer("layout") != 0;
  const int64_t at = static_cast<int64_t>(d);
  const Dim width = hidden_ * Dim(gates_);
  const V w = c_.permute(c_.select(c_.in(1), 0, at), {1, 0});
  const V r = c_.permute(c_.select(c_.in(2), 0, at), {1, 0});
  const DType t = c_.dtype(0);
  V bias_x = V::none(), bias_r = c_.full({width}, 0, t);
  if (c_.has(3)) {
    const V both = c_.select(c_.in(3), 0, at);
    bias_x = c_.slice(both, 0, 0, width);
    bias_r = c_.slice(both, 0, width, width * Dim(2));
  }
  const auto initial = [&](size_t k) {
    if (!c_.has(k)) return c_.full({batch_, hidden_}, 0, t);
    return c_.select(c_.in(k), by_batch ? 1 : 0, at);
  };
  State s{initial(5), gates_ == 4 ? initial(6) : V::none()};
  const V peephole = gates_ == 4 && c_.has(7) ? c_.select(c_.in(7), 0, at) : V::none();
  const Dim rows = Dim(steps_) * batch_;
  const V flat = c_.op("reshape", {x_}, {{"shape", Shape{rows, c_.shape(x_)[2]}}});
  V products = c_.op("mm", {flat, w});
  if (bias_x.valid()) products = c_.add(products, bias_x);
  products = c_.view(products, {steps_, batch_, width});
  V lengths = V::none();
  if (c_.has(4)) lengths = c_.unsqueeze(c_.convert(c_.in(4), DType::i64), 1);
  Values out(static_cast<size_t>(steps_));
  for (int64_t k = 0; k < steps_ && c_.status().ok(); ++k) {
    const int64_t time = reverse ? steps_ - 1 - k : k;
    CLEAVE_TRY(State next, step(c_.select(products, 0, time), s, r, bias_r, peephole));
    V y = next.h;
    if (lengths.valid()) {
      const V inside = c_.op("gt", {lengths, static_cast<int>(time)});
      y = c_.where(inside, next.h, 0.0);
      next.h = c_.where(inside, next.h, s.h);
      if (next.cell.valid()) next.cell = c_.where(inside, next.cell, s.cell);
    }
    s = next;
    out[static_cast<size_t>(time)] = y;
  }
  if (!c_.status().ok()) return {};
  y_.push_back(c_.op("stack", {CallOperand(std::move(out))}, {{"dim", 0}}));
  y_h_.push_back(s.h);
  if (gates_ == 4) y_c_.push_back(s.cell);
  return {};
}

Status Recurrent::run() {
  if (c_.rank(0) != 3 || c_.rank(1) != 3 || c_.rank(2) != 3)
    return user_error("expected x, w and r of 3 dims");
  const bool by_batch = c_.integer("layout") != 0;
  x_ = c_.in(0);
  if (by_batch) x_ = c_.permute(x_, {1, 0, 2});
  if (!c_.status().ok()) return {};
  const Shape s = c_.shape(x_);
  if (!s[0].is_const()) return unsupported("a number of steps that isn't known");
  steps_ = s[0].value();
  if (steps_ < 1 || steps_ > most_steps)
    return unsupported("{} steps, expected 1 to {}", steps_, most_steps);
  batch_ = s[1];
  hidden_ = c_.shape(2)[2];
  const std::string direction = c_.text("direction", "forward");
  const size_t directions = direction == "bidirectional" ? 2 : 1;
  const size_t each = activations_.size();
  if (const Attribute* given = c_.attribute("activations")) {
    activations_ = given->strings;
  } else if (directions == 2) {
    const std::vector<std::string> again = activations_;
    activations_.insert(activations_.end(), again.begin(), again.end());
  }
  if (activations_.size() != each * directions)
    return user_error("{} activations, expected {}", activations_.size(), each * directions);
  for (size_t d = 0; d < directions; ++d) {
    offset_ = d * each;
    CLEAVE_CHECK(run_direction(d, direction == "reverse" || d == 1));
    if (!c_.status().ok()) return {};
  }
  const int64_t axis = by_batch ? 2 : 1;
  if (by_batch)
    for (V& y : y_) y = c_.permute(y, {1, 0, 2});
  c_.give(0, c_.op("stack", {CallOperand(y_)}, {{"dim", axis}}), c_.element(0));
  c_.give(1, c_.op("stack", {CallOperand(y_h_)}, {{"dim", by_batch ? 1 : 0}}), c_.element(0));
  if (gates_ == 4)
    c_.give(2, c_.op("stack", {CallOperand(y_c_)}, {{"dim", by_batch ? 1 : 0}}), c_.element(0));
  return {};
}

Status rnn(Call& c) { return Recurrent(c, 1, {"Tanh"}).run(); }
Status gru(Call& c) { return Recurrent(c, 3, {"Sigmoid", "Tanh"}).run(); }
Status lstm(Call& c) { return Recurrent(c, 4, {"Sigmoid", "Tanh", "Tanh"}).run(); }

constexpr RuleEntry entries[] = {{"RNN", rnn}, {"GRU", gru}, {"LSTM", lstm}};

}  // namespace

std::span<const RuleEntry> recurrent_rules() { return entries; }

}  // namespace cleave::onnx
