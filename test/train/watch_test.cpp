// CompileOptions::watch: the contents of named values after a run.
#include <gtest/gtest.h>

#include "cleave/cleave.h"
#include "test/trace/traced.h"

namespace cleave {
namespace {

using test::message;

struct Net : nn::Module {
  Generator rng{1};
  nn::Linear body{add_module("body", nn::Linear(3, 4, rng))};
  nn::Linear head{add_module("head", nn::Linear(4, 1, rng))};
  Tensor hidden(const Tensor& x) const { return tanh(body(x)).named("h"); }
  Tensor loss(const Tensor& x, const Tensor& y) const { return mse_loss(head(hidden(x)), y); }
};

const std::vector<InputSpec> specs = {{"x", DType::f32, {2, 3}}, {"y", DType::f32, {2, 1}}};

TrainStep made(const Net& net, TrainOptions options) {
  options.compile.threads = 1;
  return train_step(
      net, [&](const Tensor& x, const Tensor& y) { return net.loss(x, y); },
      optim::SGD({.lr = 0.5}), specs, options);
}

struct Data {
  Generator rng{3};
  HostTensor x = rng.normal({2, 3}), y = rng.normal({2, 1});
};

TEST(Watch, a_function_returns_what_it_names) {
  const Net net;
  const Data d;
  CompiledFunction f = compile(net, [&](const Tensor& x) { return net.head(net.hidden(x)); },
                               {specs[0]}, {.watch = {"h", "%body.weight", "x"}});
  CompiledFunction hidden =
      compile(net, [&](const Tensor& x) { return net.hidden(x); }, {specs[0]});
  EXPECT_EQ(message([&] { f.value("h"); }),
            "compile: it has no outputs: it did not run yet, or the last run failed");
  HostTensor x(d.x);
  f.run({x});
  x.set_number(0, 99);
  const HostTensor h = f.value("h");
  EXPECT_TRUE(h.same_bits(hidden.run({d.x})[0]));
  EXPECT_TRUE(f.value("%h").same_bits(h));
  EXPECT_TRUE(f.value("body.weight").same_bits(net.body.parameter("weight").value()));
  EXPECT_TRUE(f.value("x").same_bits(d.x));
  f.run({HostTensor(DType::f32, {2, 3})});
  EXPECT_FALSE(f.value("h").same_bits(h));
}

// A parameter has the value that the run read.
TEST(Watch, a_step_returns_values_and_gradients) {
  const Net net, plain;
  const Data d;
  TrainStep step =
      made(net, {.compile = {.watch = {"h", "grad.h", "grad.body.weight", "x", "body.weight",
                                       "grad.x", "optimizer.step.next"}},
                 .clip_norm = 1e-3});
  TrainStep other = made(plain, {.clip_norm = 1e-3});
  for (int i = 0; i < 3; ++i) {
    const HostTensor before = net.body.parameter("weight").value();
    const StepResult r = step.run({d.x, d.y});
    EXPECT_EQ(r.loss, other.run({d.x, d.y}).loss);
    EXPECT_TRUE(step.value("body.weight").same_bits(before));
    EXPECT_TRUE(step.value("x").same_bits(d.x));
    EXPECT_EQ(step.value("optimizer.step.next").item(), i + 1);
    EXPECT_EQ(step.value("h").shape(), (std::vector<int64_t>{2, 4}));
    // dloss/dh = (y' - y) head.weight, with a mean over 2 rows
    const HostTensor h = step.value("h"), dh = step.value("grad.h"), dx = step.value("grad.x");
    const HostTensor dw = step.value("grad.body.weight");
    for (int64_t j = 0; j < 4; ++j)
      for (int64_t k = 0; k < 3; ++k) {
        double want = 0;
        for (int64_t row = 0; row < 2; ++row)
          want += dh.at<float>({row, j}) * (1 - std::pow(h.at<float>({row, j}), 2)) *
                  d.x.at<float>({row, k});
        EXPECT_NEAR(dw.at<float>({j, k}), want, 1e-6);
      }
    EXPECT_EQ(dx.shape(), d.x.shape());
  }
  for (const auto& [name, v] : plain.named_parameters())
    EXPECT_TRUE(net.parameter(name).value().same_bits(v.value())) << name;
}

TEST(Watch, runs_that_accumulate) {
  const Net net;
  const Data d;
  TrainStep step =
      made(net, {.compile = {.watch = {"h", "grad.h", "optimizer.step.next"}}, .accumulate = 2});
  step.run({d.x, d.y});
  const HostTensor h = step.value("h");
  EXPECT_EQ(message([&] { step.value("optimizer.step.next"); }),
            "train_step: value(\"optimizer.step.next\"): the last run doesn't update the "
            "parameters and doesn't compute it");
  step.run({d.x, d.y});
  EXPECT_TRUE(step.value("h").same_bits(h));
  EXPECT_EQ(step.value("optimizer.step.next").item(), 1);
}

TEST(Watch, errors) {
  const Net net;
  const auto refused = [&](const std::string& name) {
    return message([&] { made(net, {.compile = {.watch = {name}}}); });
  };
  const auto expect_ends = [](const std::string& text, const std::string& end) {
    EXPECT_TRUE(text.ends_with(end)) << text;
  };
  expect_ends(refused("bdy.weight"),
              ": watch: there is no value %bdy.weight; the nearest is %body.weight; graph_text() "
              "shows all, .named() names one");
  expect_ends(refused(""), ": watch: a name is empty");
  expect_ends(refused("grad.nothing.like.it"),
              ": watch: there is no value %grad.nothing.like.it; graph_text() shows all, .named() "
              "names one");
  TrainStep step = made(net, {.compile = {.watch = {"h"}}});
  EXPECT_EQ(message([&] { step.value("g"); }),
            "train_step: value(\"g\") isn't watched; watched are h");
  TrainStep none = made(net, {});
  EXPECT_EQ(message([&] { none.value("g"); }),
            "train_step: value(\"g\") isn't watched; CompileOptions::watch names the values that "
            "are");
}

TEST(Watch, a_gradient_that_nothing_has) {
  const Net net;
  const auto loss = [&](const Tensor& x, const Tensor& y) {
    const Tensor aside = (x * 2.0).named("aside");
    return Tensors{net.loss(x, y), aside};
  };
  const std::string text = message([&] {
    train_step(net, loss, optim::SGD({}), specs, {.compile = {.watch = {"grad.aside"}}});
  });
  EXPECT_TRUE(text.ends_with(": watch: %aside has no gradient: the loss doesn't depend on it"))
      << text;
}

// A value that passes would replace is computed nevertheless.
TEST(Watch, a_value_that_a_pass_would_drop) {
  CompiledFunction f = compile(
      [](const Tensor& x) { return permute(permute(x, {1, 0}).named("turned"), {1, 0}) + 0.0; },
      {specs[0]}, {.watch = {"turned"}});
  const Data d;
  f.run({d.x});
  const HostTensor turned = f.value("turned");
  EXPECT_EQ(turned.shape(), (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(turned.at<float>({2, 1}), d.x.at<float>({1, 2}));
}

TEST(Watch, inside_a_branch) {
  const std::string text = message([] {
    compile(
        [](const Tensor& x) {
          return cond(
              gt(sum(x), 0), [](const Tensor& v) { return (v * 2.0).named("twice"); },
              [](const Tensor& v) { return v * 1.0; }, {x})[0];
        },
        {specs[0]}, {.watch = {"twice"}});
  });
  EXPECT_NE(text.find("watch: %twice is inside the branch or loop @"), std::string::npos) << text;
}

}  // namespace
}  // namespace cleave
