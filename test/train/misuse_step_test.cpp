// What host programs do with programs by mistake: an error, or the right thing, never a wrong
// number.
#include <gtest/gtest.h>

#include <cmath>

#include "cleave/cleave.h"
#include "test/trace/traced.h"

namespace cleave {
namespace {

using test::message;

struct Fitted {
  Generator rng{1};
  nn::Linear model{2, 2, rng};
  TrainStep step;
  HostTensor x = rng.normal({4, 2}), y = rng.normal({4, 2});

  explicit Fitted(const TrainOptions& options = {})
      : step(train_step(
            model,
            [this](const Tensor& in, const Tensor& want) {
              const Tensor out = model(in);
              return Tensors{mse_loss(out, want), out};
            },
            optim::SGD({.lr = 0.1}), {{"x", DType::f32, {4, 2}}, {"y", DType::f32, {4, 2}}},
            options)) {}
};

TEST(MisuseStep, an_output_is_a_copy) {
  Fitted f;
  std::vector<HostTensor> kept;
  for (int i = 0; i < 3; ++i) {
    f.step.run({f.x, f.y});
    kept.push_back(f.step.output(0));
  }
  EXPECT_FALSE(kept[0].same_bits(kept[1]));
  EXPECT_TRUE(kept[2].same_bits(f.step.output_view(0)));
  EXPECT_FALSE(kept[2].borrows());
  EXPECT_TRUE(f.step.output_view(0).borrows());
}

// A view keeps the program's memory after the program is gone.
TEST(MisuseStep, a_view_outlives_its_program) {
  HostTensor view, copy;
  {
    CompiledFunction f = compile([](const Tensor& x) { return x * 2.0; }, {{"x", DType::f32, {3}}});
    f.run_in_place(std::vector<InputRef>{HostTensor::from<float>({1, 2, 3})});
    view = f.output_view(0);
    copy = f.output(0);
  }
  EXPECT_TRUE(view.same_bits(copy));
  EXPECT_EQ(view.to_vector<double>(), (std::vector<double>{2, 4, 6}));
}

// A state that is fed back from the program's own memory, as recurrent programs do.
TEST(MisuseStep, an_input_in_the_programs_own_memory_is_copied) {
  const auto next = [](const Tensor& h) {
    const Tensor turned = tanh(matmul(h, h.transpose(0, 1)) * 0.3);
    return softmax(turned, 1) + h * 0.5;
  };
  CompiledFunction f = compile(next, {{"h", DType::f32, {8, 8}}});
  CompiledFunction fed_back = compile(next, {{"h", DType::f32, {8, 8}}});
  HostTensor h = Generator(3).normal({8, 8});
  fed_back.run_in_place(std::vector<InputRef>{h});
  h = f.run({h})[0];
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(fed_back.output(0).same_bits(h));
    EXPECT_EQ(fed_back.report().count("copies"), i);
    fed_back.run_in_place(std::vector<InputRef>{fed_back.output_view(0)});
    h = f.run({h})[0];
  }
  EXPECT_EQ(f.report().count("copies"), 0);
}

TEST(MisuseStep, an_input_that_the_step_updates_is_copied) {
  Fitted a, b;
  const HostTensor weight = a.model.parameter("weight").value();
  const auto step_of = [](Fitted& f, TrainStep& out) {
    out =
        train_step(f.model, [&f](const Tensor& w) { return sum(f.model.parameter("weight") * w); },
                   optim::SGD({.lr = 1}), {{"w", DType::f32, {2, 2}}});
  };
  TrainStep aliased, apart;
  step_of(a, aliased), step_of(b, apart);
  const double one = aliased.run({a.model.parameter("weight").value()}).loss;
  EXPECT_EQ(one, apart.run({weight}).loss);
  EXPECT_TRUE(a.model.parameter("weight").value().same_bits(b.model.parameter("weight").value()));
  EXPECT_EQ(aliased.report().count("copies"), 1);
  EXPECT_EQ(apart.report().count("copies"), 0);
}

TEST(MisuseStep, inputs_by_name) {
  Fitted a, b;
  EXPECT_EQ(a.step.run({{"y", a.y}, {"x", a.x}}).loss, b.step.run({b.x, b.y}).loss);
  EXPECT_EQ(message([&] { a.step.run({{"x", a.x}, {"z", a.y}}); }),
            "train_step: there is no input `z`; inputs are x, y");
  EXPECT_EQ(message([&] { a.step.run({{"x", a.x}, {"x", a.y}}); }),
            "train_step: input `x` is given twice");
  EXPECT_EQ(message([&] { a.step.run({{"x", a.x}}); }), "train_step: input `y` is missing");
}

TEST(MisuseStep, empty_and_moved_programs) {
  TrainStep none;
  const CompiledFunction nothing;
  EXPECT_EQ(message([&] { none.run({}); }), "TrainStep: it is empty; train_step() makes one");
  EXPECT_EQ(message([&] { none.set_learning_rate(1); }),
            "TrainStep: it is empty; train_step() makes one");
  EXPECT_EQ(message([&] { none.store(); }), "TrainStep: it is empty; train_step() makes one");
  EXPECT_EQ(message([&] { nothing.report(); }),
            "CompiledFunction: it is empty; compile() makes one");
  Fitted f;
  none = std::move(f.step);
  f.step.run({f.x, f.y});
  EXPECT_EQ(none.steps(), 1);
}

TEST(MisuseStep, rates_that_are_none) {
  Fitted f;
  for (const double lr : {-0.1, double{NAN}, double{INFINITY}})
    EXPECT_EQ(
        message([&] { f.step.set_learning_rate(lr); }),
        fmt::format("train_step: the learning rate is {}, expected a number of at least 0", lr));
  EXPECT_EQ(f.step.learning_rate(), 0.1);
}

TEST(MisuseStep, the_rate_is_part_of_the_state) {
  Fitted a, b;
  a.step.set_learning_rate(0.007);
  const std::string path = testing::TempDir() + "cleave_rate.safetensors";
  save_checkpoint(path, a.step.store());
  load_checkpoint(path, b.step.store());
  EXPECT_EQ(b.step.learning_rate(), 0.007);
  EXPECT_EQ(a.step.run({a.x, a.y}).loss, b.step.run({b.x, b.y}).loss);
  EXPECT_TRUE(a.model.parameter("weight").value().same_bits(b.model.parameter("weight").value()));
  // A file of before, which has none, leaves the rate as it is.
  NamedTensors old = load_tensors(path);
  old.erase("optimizer.lr");
  save_tensors(path, old, {{"cleave_checkpoint", "1"}});
  b.step.set_learning_rate(0.5);
  load_checkpoint(path, b.step.store());
  EXPECT_EQ(b.step.learning_rate(), 0.5);
}

TEST(MisuseStep, switches_after_compiling) {
  Fitted f;
  f.model.parameter("bias").set_requires_grad(false);
  EXPECT_EQ(message([&] { f.step.run({f.x, f.y}); }),
            "train_step: %bias was frozen after the step was compiled, which has no effect on it; "
            "compile another step, with this one's store()");
  f.model.set_requires_grad(true);
  f.model.eval();
  EXPECT_EQ(
      message([&] { f.step.run({f.x, f.y}); }),
      "train_step: the model was switched to eval() after the step was compiled, which has no "
      "effect on it; switch it back (compile() needs no eval())");
  f.model.train();
  f.step.run({f.x, f.y});
  EXPECT_EQ(f.step.steps(), 1);
}

TEST(MisuseStep, averages_are_never_taken_for_weights) {
  Fitted f({.ema_decay = 0.9});
  const std::string path = testing::TempDir() + "cleave_ema.safetensors";
  TrainStep other = train_step(f.model, [&](const Tensor& x) { return sum(f.model(x)); },
                               optim::SGD({}), {{"x", DType::f32, {4, 2}}});
  f.step.run({f.x, f.y});
  f.step.use_ema(true);
  const std::string text = "an average stands in the place of ";
  EXPECT_EQ(message([&] { save_checkpoint(path, f.step.store()); }),
            path + ": " + text + "weight; use_ema(false) first");
  EXPECT_EQ(message([&] { load_checkpoint(path, f.step.store()); }).find(path), 0u);
  save_weights(path, f.model);  // which is what they are for
  EXPECT_EQ(message([&] { load_weights(path, f.model); }),
            path + ": " + text + "weight; use_ema(false) first");
  EXPECT_EQ(message([&] { f.model.copy_from(nn::clone(f.model)); }),
            "Module: copy_from: " + text + "weight; use_ema(false) first");
  for (const auto& run : {std::function<void()>([&] { f.step.run({f.x, f.y}); }),
                          std::function<void()>([&] { other.run({f.x}); })})
    EXPECT_EQ(message(run), "train_step: " + text + "%weight; use_ema(false) first");
  f.step.use_ema(false);
  other.run({f.x});
  save_checkpoint(path, f.step.store());
}

TEST(MisuseStep, averages_of_two_steps) {
  Generator rng(1);
  const nn::Linear body(2, 2, rng), head(2, 1, rng);
  const nn::Sequential both(body, head);
  const std::vector<InputSpec> x = {{"x", DType::f32, {4, 2}}};
  const HostTensor rows = rng.normal({4, 2});
  const auto values = [&] {
    HostTensors out;
    for (const auto& [name, v] : both.named_parameters()) out.push_back(v.value());
    return out;
  };
  const auto same = [](const HostTensors& a, const HostTensors& b) {
    return std::ranges::equal(
        a, b, [](const HostTensor& p, const HostTensor& q) { return p.same_bits(q); });
  };
  TrainStep of_head = train_step(head, [&](const Tensor& t) { return sum(head(t)); },
                                 optim::SGD({.lr = 0.1}), x, {.ema_decay = 0.5});
  HostTensors averages;
  {
    TrainStep of_both = train_step(both, [&](const Tensor& t) { return sum(both(t)); },
                                   optim::SGD({.lr = 0.1}), x, {.ema_decay = 0.5});
    for (int k = 0; k < 2; ++k) of_head.run({rows}), of_both.run({rows});
    of_head.use_ema(true);
    const HostTensors before = values();
    EXPECT_EQ(message([&] { of_both.use_ema(true); }),
              "train_step: use_ema: another step has put its averages there");
    of_both.use_ema(false);  // nothing has changed, so nothing changes
    EXPECT_TRUE(same(values(), before));
    of_head.use_ema(false);
    of_both.use_ema(true);
    averages = values();
    EXPECT_FALSE(same(averages, before));
  }
  EXPECT_TRUE(same(values(), averages));
  of_head.run({rows});  // no step is left that could put its parameters back
}

// A value that is read in a trace is a constant of the program: each Variable is named once, though
// accumulation traces twice.
TEST(MisuseStep, values_that_are_read_while_tracing) {
  Generator rng(1);
  nn::Sequential model(nn::Linear(2, 4, rng), nn::BatchNorm1d(4), nn::Linear(4, 1, rng));
  Variable scale = model.add_buffer("scale", HostTensor::scalar(0.5));
  testing::internal::CaptureStderr();
  TrainStep step = train_step(model,
                              [&](const Tensor& x) {
                                Tensor y = model(x) * scale.value().item() * scale.data<float>()[0];
                                return mean(y * Tensor(scale)) +
                                       0.0 * static_cast<double>(model.parameter_count());
                              },
                              optim::SGD({}), {{"x", DType::f32, {4, 2}}}, {.accumulate = 2});
  const std::string said = testing::internal::GetCapturedStderr();
  ASSERT_EQ(step.report().warnings.size(), 1u);
  const Warning& w = step.report().warnings[0];
  EXPECT_EQ(w.code, "traced_value");
  EXPECT_NE(w.text.find("misuse_step_test.cpp:"), std::string::npos) << w.text;
  EXPECT_NE(w.text.find("the value of `scale` is read while train_step traces the function"),
            std::string::npos)
      << w.text;
  EXPECT_EQ(said, "cleave: warning: " + w.text + "\n");
  // Outside of a trace, reading is what it is for.
  scale.value();
  EXPECT_EQ(compile(model, [&](const Tensor& x) { return model(x) * Tensor(scale); },
                    {{"x", DType::f32, {4, 2}}})
                .report()
                .warnings.size(),
            0u);
}

TEST(MisuseStep, names_of_inputs) {
  const auto made = [](std::vector<InputSpec> inputs) {
    Generator rng(1);
    nn::BatchNorm1d model(2);
    return message([&] {
      train_step(
          model, [&](const Tensor& a, const Tensor& b) { return mean(model(a) * b); },
          optim::SGD({}), inputs);
    });
  };
  const std::vector<int64_t> s = {4, 2};
  const auto says = [](const std::string& text, const std::string& end) {
    EXPECT_TRUE(text.ends_with(": train_step: " + end)) << text;
  };
  says(made({{"x", DType::f32, s}, {"x", DType::f32, s}}), "two inputs have the name `x`");
  says(made({{"weight", DType::f32, s}, {"x", DType::f32, s}}),
       "input `weight`: the model has a parameter of this name");
  says(made({{"x", DType::f32, s}, {"running_mean", DType::f32, s}}),
       "input `running_mean`: the model has a buffer of this name");
}

TEST(MisuseStep, groups_that_select_nothing) {
  Generator rng(1);
  const nn::Linear model(2, 2, rng);
  const auto made = [&](optim::ParameterFilter which) {
    return message([&] {
      train_step(model, [&](const Tensor& x) { return sum(model(x)); },
                 optim::Groups({{which, optim::SGD({})}, {optim::others(), optim::SGD({})}}),
                 {{"x", DType::f32, {4, 2}}});
    });
  };
  EXPECT_TRUE(made(optim::named("haed."))
                  .ends_with("optim::Groups: group 0, named(\"haed.\"), selects no parameter that "
                             "is left; trained are weight, bias"));
  EXPECT_EQ(made([](const std::string&, const Tensor&) { return true; }), "no error");
}

// A Tensor of a step whose trace an exception ended adds nothing to it; nor does one of
// memory_trades, which compiles nothing.
TEST(MisuseStep, a_trace_that_is_over) {
  Generator rng(1);
  const nn::Linear model(2, 2, rng);
  Tensor kept;
  const auto loss = [&](const Tensor& x) {
    kept = model(x);
    return mean(square(kept));
  };
  const std::vector<InputSpec> specs = {{"x", DType::f32, {4, 2}}};
  const auto expect_over = [&] {
    EXPECT_NE(message([&] { kept* kept; }).find("is used after its trace is over"),
              std::string::npos);
  };
  memory_trades(model, loss, optim::SGD({}), specs);
  expect_over();
  EXPECT_NE(message([&] { train_step(model, loss, optim::SGD({}), specs, {.clip_norm = -1}); }),
            "no error");
  expect_over();
}

struct WithoutRates : optim::Optimizer {
  std::vector<double> learning_rates() const override { return rates; }
  double learning_rate() const override { return 0; }
  void record(optim::Update& update) const override { update.learning_rate(); }
  mutable std::vector<double> rates;
};
// One that gives more rates each time it is asked.
struct MoreRates : WithoutRates {
  std::vector<double> learning_rates() const override {
    rates.push_back(1);
    return rates;
  }
};

TEST(MisuseStep, an_optimizer_without_learning_rates) {
  Generator rng(1);
  const nn::Linear model(2, 2, rng);
  const auto refused = [&](const optim::Optimizer& optimizer) {
    return message([&] {
      train_step(model, [&](const Tensor& x) { return mean(model(x)); }, optimizer,
                 {{"x", DType::f32, {4, 2}}});
    });
  };
  EXPECT_TRUE(refused(WithoutRates())
                  .ends_with(": train_step: the optimizer's learning_rates() gave none"));
  EXPECT_TRUE(refused(optim::Groups({{optim::named("weight"), WithoutRates()},
                                     {optim::others(), optim::SGD({})}}))
                  .ends_with(": optimizer: learning_rates() gave none"));
  EXPECT_TRUE(
      refused(MoreRates())
          .ends_with(": train_step: the optimizer's learning_rates() gave 1 rates, then 2"));
}

}  // namespace
}  // namespace cleave
