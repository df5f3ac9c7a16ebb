// Training in mixed precision: what stays f32, which casts are shared, that budgets and threads
// don't change bits, and how close the losses are to those in f32.
#include <gtest/gtest.h>

#include <cmath>

#include "cleave/cleave.h"
#include "test/trace/traced.h"

namespace cleave {
namespace {

using test::message;

struct Net : nn::Module {
  nn::Linear body, head;
  explicit Net(Generator& rng)
      : body(add_module("body", nn::Linear(16, 32, rng))),
        head(add_module("head", nn::Linear(32, 4, rng))) {}
  Tensor operator()(const Tensor& x) const { return head(gelu(body(x))); }
};

std::vector<InputSpec> specs_of(int64_t rows) {
  return {{"x", DType::f32, {rows, 16}}, {"y", DType::i64, {rows}}};
}
const std::vector<InputSpec> specs = specs_of(8);

struct Data {
  HostTensor x, y;
  Data(Generator& rng, int64_t rows) : x(rng.normal({rows, 16})), y(DType::i64, {rows}) {
    for (int64_t k = 0; k < rows; ++k)
      y.data<int64_t>()[k] = static_cast<int64_t>(4 * rng.uniform());
  }
};

// The losses of a few steps from the same start.
std::vector<double> losses(const TrainOptions& options, int steps = 12, int64_t rows = 8) {
  Generator rng(5);
  const Net net(rng);
  const Data d(rng, rows);
  TrainStep step = train_step(
      net, [&](const Tensor& x, const Tensor& y) { return cross_entropy(net(x), y); },
      optim::AdamW({.lr = 3e-3}), specs_of(rows), options);
  std::vector<double> out;
  for (int k = 0; k < steps; ++k) out.push_back(step.run({d.x, d.y}).loss);
  return out;
}

size_t count(const std::string& text, const std::string& what) {
  size_t n = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

TEST(Autocast, losses_stay_near_those_of_f32) {
  const std::vector<double> exact = losses({});
  for (const DType t : {DType::bf16, DType::f16}) {
    const std::vector<double> cast = losses({.compile = {.autocast = t}});
    EXPECT_NE(cast, exact);
    // A rounding of the dtype is 2^-9 of bf16, 2^-12 of f16.
    const double limit = t == DType::bf16 ? 0x1p-8 : 0x1p-11;
    for (size_t k = 0; k < exact.size(); ++k) EXPECT_NEAR(cast[k], exact[k], limit * exact[k]);
    EXPECT_LT(cast.back(), 0.8 * cast.front());
  }
}

TEST(Autocast, weights_state_and_gradients_stay_f32) {
  Generator rng(5);
  const Net net(rng);
  const Data d(rng, 8);
  TrainStep step =
      train_step(net, [&](const Tensor& x, const Tensor& y) { return cross_entropy(net(x), y); },
                 optim::AdamW({}), specs,
                 {.compile = {.autocast = DType::bf16}, .clip_norm = 1.0, .ema_decay = 0.9});
  step.run({d.x, d.y});
  const Store store = step.store();
  for (const auto& [name, v] : store.entries())
    if (is_floating(v.dtype()) && name != "optimizer.lr") {
      EXPECT_EQ(v.dtype(), DType::f32) << name;
    }
  const std::string text = step.graph_text();
  EXPECT_EQ(count(text, " : bf16[8,32]") > 0, true) << text;
  EXPECT_EQ(count(text, "_to_copy(%body.weight; dtype=bf16)"), 1);
  EXPECT_EQ(count(text, "_to_copy(%head.weight; dtype=bf16)"), 1);
}

TEST(Autocast, bits_depend_on_neither_threads_nor_budget_nor_compiler) {
  const std::vector<double> want = losses({.compile = {.threads = 1, .autocast = DType::bf16}});
  EXPECT_EQ(losses({.compile = {.threads = 2, .autocast = DType::bf16}}), want);
  EXPECT_EQ(losses({.compile = {.compiler = CompilerChoice::none, .autocast = DType::bf16}}), want);
  Generator rng(5);
  const Net net(rng);
  const std::vector<MemoryTrade> trades =
      memory_trades(net, [&](const Tensor& x, const Tensor& y) { return cross_entropy(net(x), y); },
                    optim::AdamW({}), specs_of(4096), {.compile = {.autocast = DType::bf16}});
  ASSERT_GT(trades.size(), 1);
  EXPECT_EQ(
      losses({.compile = {.memory_budget = trades.back().peak_bytes, .autocast = DType::bf16}}, 3,
             4096),
      losses({.compile = {.autocast = DType::bf16}}, 3, 4096));
}

TEST(Autocast, weights_have_no_copy_in_the_lower_dtype) {
  const nn::Sequential net = [] {
    Generator rng(5);
    return nn::Sequential(nn::Linear(64, 64, rng), nn::Linear(64, 64, rng));
  }();
  const auto arena_bytes = [&](const CompileOptions& options) {
    return compile(
               net, [&](const Tensor& x) { return net(x); }, {{"x", DType::f32, {1, 64}}}, options)
        .report()
        .planned_peak_bytes;
  };
  // Rows, biases and workspaces, in addition to the f32 program's memory, which has none: less than
  // a weight in bf16.
  EXPECT_LT(arena_bytes({.autocast = DType::bf16}), arena_bytes({}) + 64 * 64 * 2);
}

TEST(Autocast, gathered_gradients_are_those_of_one_run) {
  const std::vector<double> twice =
      losses({.compile = {.autocast = DType::bf16}, .accumulate = 2}, 12);
  const std::vector<double> once = losses({.compile = {.autocast = DType::bf16}}, 6);
  for (size_t k = 0; k < once.size(); ++k) EXPECT_NEAR(twice[2 * k], once[k], 2e-3);
}

TEST(Autocast, losses_are_f32_whatever_they_are_made_of) {
  Generator rng(5);
  const Net net(rng);
  const std::vector<std::function<Tensor(const Tensor&, const Tensor&)>> all = {
      [](const Tensor& a, const Tensor& b) { return mse_loss(a, b); },
      [](const Tensor& a, const Tensor& b) { return l1_loss(a, b); },
      [](const Tensor& a, const Tensor& b) { return smooth_l1_loss(a, b); },
      [](const Tensor& a, const Tensor& b) { return huber_loss(a, b); },
      [](const Tensor& a, const Tensor& b) { return kl_div(a, b); },
      [](const Tensor& a, const Tensor& b) { return binary_cross_entropy_with_logits(a, b); }};
  for (const auto& loss : all) {
    // Both sides come from products, so that nothing but the loss asks for f32.
    const CompiledFunction f =
        compile(net, [&](const Tensor& x) { return loss(net(x), sigmoid(net(x))); }, {specs[0]},
                {.autocast = DType::bf16});
    const std::string text = f.graph_text();
    EXPECT_EQ(count(text, "bf16[]"), 0) << text;
    EXPECT_EQ(count(text, "_to_copy(%sigmoid; dtype=f32)"), 1) << text;
  }
}

TEST(Autocast, results_assigned_buffers_and_branches_keep_their_dtypes) {
  Generator rng(5);
  const nn::Sequential net(nn::Conv2d(3, 4, 3, rng), nn::BatchNorm2d(4), nn::ReLU());
  TrainStep step = train_step(net,
                              [&](const Tensor& x) {
                                const Tensor y = net(x);
                                const Tensor z = cond(
                                    gt(mean(y), 0.0), [](const Tensor& a) { return mul(a, a); },
                                    [](const Tensor& a) { return neg(a); }, {y})[0];
                                return Tensors{mean(z), y};
                              },
                              optim::SGD({.lr = 0.1}), {{"x", DType::f32, {2, 3, 6, 6}}},
                              {.compile = {.autocast = DType::bf16}});
  step.run({rng.normal({2, 3, 6, 6})});
  EXPECT_EQ(step.output(0).dtype(), DType::f32);
}

TEST(Autocast, other_dtypes_are_refused_where_the_program_is_made) {
  Generator rng(5);
  const Net net(rng);
  const auto made = [&] {
    train_step(net, [&](const Tensor& x, const Tensor& y) { return cross_entropy(net(x), y); },
               optim::SGD({.lr = 0.1}), specs, {.compile = {.autocast = DType::f32}});
  };
  EXPECT_NE(message(made).find("train_step: autocast: f32: expected bf16 or f16"),
            std::string::npos)
      << message(made);
}

}  // namespace
}  // namespace cleave
