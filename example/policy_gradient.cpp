// REINFORCE (Williams, 1992): sixty-four walkers learn to reach a goal on a board. Returns are
// computed by an operator of this program's own, parameters are updated by an optimizer of its own.
#include <cleave/cleave.h>

#include <algorithm>
#include <cstdio>

using namespace cleave;

constexpr int64_t walkers = 64, moves = 24, side = 6, rows = walkers * moves;

// y[t] = r[t] + 0.9 (1 - ends[t]) y[t + 1] of rows t
Operator discount() {
  return {.name = "discount",
          .signature = "(Tensor r, Tensor ends) -> Tensor y",
          .infer = [](const OpCall& op) { return std::vector{op.operand(0)}; },
          .reference =
              [](const OpCall&, const HostTensors& in, HostTensors& out) {
                const int64_t n = in[0].numel(), w = in[0].shape()[1];
                const double *r = in[0].data<double>(), *ends = in[1].data<double>();
                double* y = out[0].data<double>();
                for (int64_t i = n; i-- > 0;)
                  y[i] = r[i] + (i + w < n ? 0.9 * (1 - ends[i]) * y[i + w] : 0);
              },
          .kernel =
              [](const OpCall& op) {
                const std::string n = std::to_string(op.operand(0).numel()),
                                  w = std::to_string(op.operand(0).shape[1]);
                return "for (long i = " + n + "; i-- > 0;)\n  y[i] = r[i] + (i + " + w + " < " + n +
                       " ? 0.9f * (1 - ends[i]) * y[i + " + w + "] : 0);";
              }};
}

// Lion (Chen et al., 2023): the sign of a mixed momentum.
struct Lion : optim::Optimizer {
  double learning_rate() const override { return 1e-3; }
  void record(optim::Update& update) const override {
    for (const auto& p : update.parameters()) {
      const Tensor m = update.state("momentum", p);
      const Tensor lr = to(update.learning_rate(), p.value.dtype());
      update.set(p, p.value - lr * sign(0.9 * m + 0.1 * p.grad));
      update.set_state("momentum", p, 0.99 * m + 0.01 * p.grad);
    }
  }
};

// A walker is four numbers: where it is, and where its goal is.
void place(float* walker, Generator& rng) {
  for (int k = 0; k < 4; ++k) walker[k] = static_cast<float>(rng.integer(side));
}
bool move(float* walker, int64_t action) {  // whether it is at the goal now
  float& axis = walker[action / 2];
  axis = std::clamp(axis + (action % 2 == 0 ? 1.0f : -1.0f), 0.0f, side - 1.0f);
  return walker[0] == walker[2] && walker[1] == walker[3];
}

int main() {
  Operators ops;
  ops.add(discount());
  Generator rng(1);
  const nn::Sequential policy(nn::Linear(4, 64, rng), nn::Tanh(), nn::Linear(64, 64, rng),
                              nn::Tanh(), nn::Linear(64, 4, rng));
  const auto loss = [&](auto seen, auto action, auto reward, auto end) {
    const Tensor gain = call("discount", {reward, end})[0].flatten();
    const Tensor advantage = (gain - gain.mean()) / (sqrt(var(gain)) + 1e-6);
    return -(gather(log_softmax(policy(seen), 1), 1, action).flatten() * advantage).mean();
  };
  HostTensor seen(DType::f32, {rows, 4}), action(DType::i64, {rows, 1}),
      reward(DType::f32, {moves, walkers}), end = reward, now(DType::f32, {walkers, 4});
  const std::vector<InputSpec> specs{{"seen", DType::f32, {rows, 4}},
                                     {"action", DType::i64, {rows, 1}},
                                     {"reward", DType::f32, {moves, walkers}},
                                     {"end", DType::f32, {moves, walkers}}};
  TrainStep step = train_step(policy, loss, Lion(), specs, {.compile = {.ops = ops}});
  CompiledFunction act = compile(policy, [&](const Tensor& x) { return softmax(policy(x), 1); },
                                 {{"seen", DType::f32, now.shape()}});
  for (int64_t w = 0; w < walkers; ++w) place(now.data<float>() + 4 * w, rng);
  double reached = 0;
  for (int i = 0; i < 200; ++i, reached = 0) {
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t w = row % walkers;
      if (w == 0) {  // all walkers at once
        std::copy_n(now.data<float>(), 4 * walkers, seen.data<float>() + 4 * row);
        act.run_in_place({{now}});
      }
      const float* p = act.output_view(0).data<float>() + 4 * w;
      int64_t a = 0;
      for (double u = rng.uniform(); a < 3 && (u -= p[a]) > 0;) ++a;
      float* walker = now.data<float>() + 4 * w;
      const bool goal = move(walker, a);
      action.data<int64_t>()[row] = a;
      reward.data<float>()[row] = goal ? 1.0f : -0.02f;
      end.data<float>()[row] = goal;
      if (goal) place(walker, rng), ++reached;
    }
    step.run({seen, action, reward, end});
    if (i % 40 == 0) std::printf("round %3d: %.0f goals in %ld moves\n", i, reached, long(rows));
    if (i == 199 && reached < 100) return 1;
  }
}
