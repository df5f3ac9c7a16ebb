// The whole training step as one program: text, falling loss, frozen and tied parameters, shared
// stores, threads, memory of the caller, errors.
// tests: train_step.cpp step_trace.cpp
#include <gtest/gtest.h>

#include <cmath>

#include "test/trace/traced.h"

namespace cleave {
namespace {

using test::after_line;
using test::message;

const std::vector<InputSpec> xy = {{"x", DType::f32, {64, 2}}, {"y", DType::f32, {64, 1}}};

struct Batch {
  HostTensor x, y;
  explicit Batch(Generator& rng) : x(rng.uniform({64, 2}, -1, 1)), y(DType::f32, {64, 1}) {
    for (int64_t k = 0; k < 64; ++k)
      y.at<float>({k, 0}) = std::sin(3 * x.at<float>({k, 0})) * x.at<float>({k, 1});
  }
};

nn::Sequential mlp(Generator& rng) {
  return nn::Sequential(nn::Linear(2, 32, rng), nn::Tanh(), nn::Linear(32, 1, rng));
}

TEST(TrainStep, loss_falls) {
  Generator rng(1);
  const nn::Sequential model = mlp(rng);
  TrainStep step = train_step(
      model, [&](const Tensor& x, const Tensor& y) { return mse_loss(model(x), y); },
      optim::AdamW({.lr = 1e-2}), xy);
  double first = 0, last = 0;
  for (int i = 0; i < 300; ++i) {
    const Batch b(rng);
    last = step.run({b.x, b.y}).loss;
    if (i == 0) first = last;
  }
  EXPECT_GT(first, 0.05);
  EXPECT_LT(last, first / 10);
  EXPECT_EQ(step.steps(), 300);
  EXPECT_GT(step.report().kernels, 0);
  EXPECT_GT(step.report().planned_peak_bytes, 0);
}

TEST(TrainStep, is_one_graph_with_updates) {
  Generator rng(1);
  nn::Sequential model(nn::Linear(2, 1, rng, {.bias = false}));
  const TrainStep step = train_step(
      model, [&](const Tensor& x, const Tensor& y) { return sum(model(x) * y); },
      optim::SGD({.lr = 0.1, .momentum = 0.9}), xy);
  Graph g = value_or_throw(parse(step.graph_text(), "step", test::core())).main;
  EXPECT_EQ(test::bare(g),
            "graph @main(%0.weight: param f32[1,2], %x: input f32[64,2], %y: input f32[64,1], "
            "%lr: input f64[], %optimizer.step: buffer i64[], "
            "%optimizer.momentum_buffer.0.weight: buffer f32[1,2]) {\n"
            "  %permute = permute(%0.weight; dims=[1,0])\n"
            "  %mm = mm(%x, %permute)\n"
            "  %mul = mul(%mm, %y)\n"
            "  %sum = sum(%mul)\n"
            "  %full = full(size=[], fill_value=1, dtype=f32)\n"
            "  %view = view(%full; size=[1,1])\n"
            "  %grad.mul = expand(%view; size=[64,1])\n"
            "  %grad.mm = mul(%grad.mul, %y)\n"
            "  %permute_1 = permute(%x; dims=[1,0])\n"
            "  %grad.permute = mm(%permute_1, %grad.mm)\n"
            "  %grad.0.weight = permute(%grad.permute; dims=[1,0])\n"
            "  %optimizer.step.next = add(%optimizer.step; other=1)\n"
            "  %mul_2 = mul(%optimizer.momentum_buffer.0.weight; other=0.9)\n"
            "  %optimizer.momentum_buffer.0.weight.next = add(%mul_2, %grad.0.weight)\n"
            "  %_to_copy = _to_copy(%lr; dtype=f32)\n"
            "  %mul_3 = mul(%optimizer.momentum_buffer.0.weight.next, %_to_copy)\n"
            "  %0.weight.next = sub(%0.weight, %mul_3)\n"
            "  return %sum, %optimizer.momentum_buffer.0.weight.next -> "
            "%optimizer.momentum_buffer.0.weight, %0.weight.next -> %0.weight, "
            "%optimizer.step.next -> %optimizer.step\n}\n");
}

// What runs again by PyTorch's rules changes no bit, and less is in memory.
TEST(TrainStep, partition_of_pytorch) {
  const auto train = [](const std::optional<PytorchOptions>& partition,
                        std::vector<double>& losses) {
    Generator rng(1);
    const nn::Sequential model = mlp(rng);
    TrainStep step =
        train_step(model, [&](const Tensor& x, const Tensor& y) { return mse_loss(model(x), y); },
                   optim::AdamW({.lr = 1e-2}), xy,
                   {.compile = {.partition = partition, .passes_off = {"all"}}});
    for (int i = 0; i < 3; ++i) {
      const Batch b(rng);
      losses.push_back(step.run({b.x, b.y}).loss);
    }
    return step.report();
  };
  std::vector<double> plain, all, none;
  train({}, plain);
  const Report saved = train(PytorchOptions{}, all);
  const Report again = train(PytorchOptions{.budget = 0}, none);
  EXPECT_EQ(plain, all);
  EXPECT_EQ(plain, none);
  const auto nodes = [](const Report& r) {
    for (const CompileStage& s : r.stages)
      if (s.name == "partition") return static_cast<int64_t>(s.nodes);
    return int64_t{-1};
  };
  EXPECT_GT(nodes(again), nodes(saved));
  Generator rng(1);
  const nn::Sequential model = mlp(rng);
  const std::string both = message([&] {
    train_step(
        model, [&](const Tensor& x, const Tensor& y) { return mse_loss(model(x), y); },
        optim::AdamW({.lr = 1e-2}), xy,
        {.compile = {.memory_budget = MemoryBudget::percent(60), .partition = PytorchOptions{}}});
  });
  EXPECT_NE(both.find("partition and memory_budget: expected one of them"), std::string::npos)
      << both;
}

TEST(TrainStep, frozen_parameters_stay) {
  Generator rng(1);
  const nn::Linear first(2, 8, rng), second(8, 1, rng);
  const nn::Sequential model(first, nn::ReLU(), second);
  first.parameter("weight").set_requires_grad(false);
  const HostTensor before = first.parameter("weight").value();
  const HostTensor bias = first.parameter("bias").value();
  TrainStep step = train_step(
      model, [&](const Tensor& x, const Tensor& y) { return mse_loss(model(x), y); },
      optim::SGD({.lr = 0.1}), xy);
  for (int i = 0; i < 5; ++i) {
    const Batch b(rng);
    step.run({b.x, b.y});
  }
  EXPECT_TRUE(first.parameter("weight").value().same_bits(before));
  EXPECT_FALSE(first.parameter("bias").value().same_bits(bias));
}

// Unused ones are neither moved nor in the program, as in PyTorch, where they have no gradient.
TEST(TrainStep, unused_parameters_stay) {
  Generator rng(1);
  const nn::Linear used(2, 1, rng), unused(2, 1, rng);
  nn::Module model;
  model.add_module("used", used);
  model.add_module("unused", unused);
  const HostTensor before = unused.parameter("weight").value();
  TrainStep step = train_step(
      model, [&](const Tensor& x, const Tensor& y) { return mse_loss(used(x), y); },
      optim::AdamW({.lr = 0.1, .weight_decay = 0.5}), xy);
  const Batch b(rng);
  step.run({b.x, b.y});
  EXPECT_TRUE(unused.parameter("weight").value().same_bits(before));
  EXPECT_EQ(step.graph_text().find("unused"), std::string::npos);
}

// A parameter that the model uses, but that a pass removes from the program: its gradient is 0, as
// in PyTorch, and weight decay moves it.
TEST(TrainStep, parameters_that_a_pass_cuts_off_have_gradients_of_zeros) {
  Generator rng(1);
  const nn::Linear used(2, 1, rng), cut(2, 1, rng);
  nn::Module model;
  model.add_module("used", used);
  model.add_module("cut", cut);
  const auto decayed = [&](std::vector<std::string> passes_off) {
    const HostTensor start = HostTensor::from<float>({1, 2}, {1, 2});
    cut.parameter("weight").set(start);
    TrainStep step = train_step(model,
                                [&](const Tensor& x, const Tensor& y) {
                                  const Tensor both = cat({used(x), cut(x)}, 1);
                                  return mse_loss(slice(both, 1, 0, 1), y);
                                },
                                optim::AdamW({.lr = 0.1, .weight_decay = 0.5}), xy,
                                {.compile = {.passes_off = std::move(passes_off)}});
    const Batch b(rng);
    step.run({b.x, b.y});
    return cut.parameter("weight").value().to_vector<float>();
  };
  const std::vector<float> with = decayed({}), without = decayed({"all"});
  EXPECT_EQ(with, without);
  EXPECT_LT(with[0], 1);
}

// A weight that two layers share gets the sum of both gradients, and has one state.
TEST(TrainStep, tied_weights) {
  Generator rng(1);
  const nn::Linear a(2, 2, rng, {.bias = false});
  nn::Linear b(2, 2, rng, {.bias = false});
  b.share("weight", a.parameter("weight"));
  const nn::Sequential model(a, b);
  a.parameter("weight").set(HostTensor::from<float>({1, 2, 3, 4}, {2, 2}));
  TrainStep step = train_step(model, [&](const Tensor& x) { return sum(model(x)); },
                              optim::SGD({.lr = 1.0}), {{"x", DType::f32, {1, 2}}});
  const double loss = step.run({HostTensor::from<float>({1, 1}, {1, 2})}).loss;
  // h = W x = (3, 7); loss = 1^T W h = (1+3) 3 + (2+4) 7 = 54; dW = 1 h^T + (W^T 1) x^T.
  EXPECT_EQ(loss, 54);
  EXPECT_EQ(a.parameter("weight").value().to_vector<double>(),
            (std::vector<double>{1 - 7, 2 - 11, 3 - 9, 4 - 13}));
  int updates = 0;
  for (size_t at = 0; (at = step.graph_text().find("-> %", at)) != std::string::npos; ++at)
    ++updates;
  EXPECT_EQ(updates, 2);  // the weight and the count of steps
}

TEST(TrainStep, buffers_keep_what_is_assigned) {
  Generator rng(1);
  const nn::Linear layer(2, 1, rng);
  nn::Module model;
  model.add_module("layer", layer);
  const Variable mean = model.add_buffer("running_mean", HostTensor(DType::f32, {1}));
  TrainStep step = train_step(
      model,
      [&](const Tensor& x, const Tensor& y) {
        const Tensor out = layer(x);
        assign(mean, mean * 0.5 + out.mean(0) * 0.5);
        return Tensors{mse_loss(out, y), out.mean(0)};
      },
      optim::SGD({.lr = 0.01}), xy);
  double want = 0;
  for (int i = 0; i < 3; ++i) {
    const Batch b(rng);
    step.run({b.x, b.y});
    want = want * 0.5 + step.output(0).number(0) * 0.5;
    EXPECT_NEAR(mean.value().number(0), want, 1e-6);
  }
}

TEST(TrainStep, evaluation_reads_what_training_wrote) {
  Generator rng(1);
  const nn::Sequential model = mlp(rng);
  CompiledFunction predict =
      compile(model, [&](const Tensor& x) { return model(x); }, {{"x", DType::f32, {3, 2}}});
  TrainStep step = train_step(
      model, [&](const Tensor& x, const Tensor& y) { return mse_loss(model(x), y); },
      optim::SGD({.lr = 0.1}), xy);
  const HostTensor x = rng.uniform({3, 2}, -1, 1);
  const auto by_hand = [&] {
    std::vector<double> out;
    const auto p = [&](const char* name) { return model.parameter(name).value(); };
    const HostTensor w0 = p("0.weight"), b0 = p("0.bias"), w2 = p("2.weight"), b2 = p("2.bias");
    for (int64_t r = 0; r < 3; ++r) {
      double y = b2.number(0);
      for (int64_t h = 0; h < 32; ++h)
        y += w2.number(h) * std::tanh(w0.number(2 * h) * x.number(2 * r) +
                                      w0.number(2 * h + 1) * x.number(2 * r + 1) + b0.number(h));
      out.push_back(y);
    }
    return out;
  };
  for (int i = 0; i < 2; ++i) {
    const std::vector<double> want = by_hand();
    const HostTensor got = predict.run({x})[0];
    for (int64_t r = 0; r < 3; ++r) EXPECT_NEAR(got.number(r), want[r], 1e-5);
    const Batch b(rng);
    step.run({b.x, b.y});
  }
}

// Another batch size, the same store: the second program goes on where the first stands.
TEST(TrainStep, recompiled_programs_share_the_state) {
  const auto final_weight = [](bool recompile) {
    Generator rng(1);
    const nn::Sequential model = mlp(rng);
    const auto loss = [&](const Tensor& x, const Tensor& y) { return mse_loss(model(x), y); };
    const optim::AdamW adamw({.lr = 1e-2});
    TrainStep step = train_step(model, loss, adamw, xy);
    const Batch b(rng);
    for (int i = 0; i < 6; ++i) {
      if (recompile && i == 3) step = train_step(model, loss, adamw, xy, {}, step.store());
      step.run({b.x, b.y});
    }
    EXPECT_EQ(step.steps(), 6);
    return model.parameter("0.weight").value();
  };
  EXPECT_TRUE(final_weight(false).same_bits(final_weight(true)));
}

TEST(TrainStep, dropout_depends_on_seed_and_step_alone) {
  const auto losses = [](uint64_t seed, int threads) {
    Generator rng(1);
    const nn::Sequential model(nn::Linear(2, 32, rng), nn::Dropout(0.5), nn::Linear(32, 1, rng));
    TrainStep step =
        train_step(model, [&](const Tensor& x, const Tensor& y) { return mse_loss(model(x), y); },
                   optim::SGD({.lr = 0.0}), xy, {.compile = {.threads = threads}, .seed = seed});
    const Batch b(rng);
    std::vector<double> out;
    for (int i = 0; i < 4; ++i) out.push_back(step.run({b.x, b.y}).loss);
    EXPECT_EQ(step.store().at("rng").value().to_vector<int64_t>(),
              (std::vector<int64_t>{static_cast<int64_t>(seed), 4}));
    return out;
  };
  const std::vector<double> a = losses(3, 1), b = losses(3, 2), c = losses(4, 1);
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
  EXPECT_NE(a[0], a[1]);  // the step counts
}

TEST(TrainStep, evaluation_drops_nothing) {
  Generator rng(1);
  const nn::Sequential model(nn::Linear(2, 2, rng), nn::Dropout(0.5));
  EXPECT_TRUE(model.is_training());
  const CompiledFunction f =
      compile(model, [&](const Tensor& x) { return model(x); }, {{"x", DType::f32, {1, 2}}});
  EXPECT_EQ(f.graph_text().find("dropout"), std::string::npos);
}

// One tensor by hand: |g| = 5, scaled to 1.
TEST(TrainStep, clips_by_the_global_norm) {
  nn::Module model;
  const Variable a = model.add_parameter("a", HostTensor(DType::f32, {2}));
  const Variable b = model.add_parameter("b", HostTensor(DType::f32, {}));
  const auto moved = [&](double clip) {
    a.value();
    Variable(a).set(HostTensor(DType::f32, {2}));
    Variable(b).set(HostTensor(DType::f32, {}));
    TrainStep step =
        train_step(model, [&](const Tensor& x) { return sum(x * a) + 3.0 * Tensor(b); },
                   optim::SGD({.lr = 1.0}), {{"x", DType::f32, {2}}}, {.clip_norm = clip});
    const StepResult r = step.run({HostTensor::from<float>({0, 4})});
    EXPECT_FLOAT_EQ(r.grad_norm, clip == 0 ? 0 : 5);
    return std::vector<double>{a.value().number(0), a.value().number(1), b.value().number(0)};
  };
  EXPECT_EQ(moved(0), (std::vector<double>{0, -4, -3}));
  EXPECT_EQ(moved(10), (std::vector<double>{0, -4, -3}));
  const std::vector<double> clipped = moved(1);
  EXPECT_NEAR(clipped[1], -4.0 / (5 + 1e-6), 1e-6);
  EXPECT_NEAR(clipped[2], -3.0 / (5 + 1e-6), 1e-6);
}

TEST(TrainStep, learning_rate_is_an_input) {
  nn::Module model;
  const Variable w = model.add_parameter("w", HostTensor(DType::f32, {1}));
  TrainStep step = train_step(model, [&](const Tensor& x) { return sum(x * w); },
                              optim::SGD({.lr = 0.5}), {{"x", DType::f32, {1}}});
  EXPECT_EQ(step.learning_rate(), 0.5);
  const HostTensor one = HostTensor::from<float>({1});
  step.run({one});
  EXPECT_EQ(w.value().number(0), -0.5);
  step.set_learning_rate(0.25);
  step.run({one});
  EXPECT_EQ(w.value().number(0), -0.75);
}

TEST(TrainStep, parameters_in_the_callers_memory) {
  Generator rng(1);
  const nn::Sequential model = mlp(rng);
  TrainStep step = train_step(
      model, [&](const Tensor& x, const Tensor& y) { return mse_loss(model(x), y); },
      optim::SGD({.lr = 0.1}), xy);
  const Batch b(rng);
  step.run({b.x, b.y});
  // Moved between two runs: the program follows. Memory at an odd place: 4 bytes after a line.
  std::vector<float> block(2 * 32 + 1);
  Variable w = model.parameter("0.weight");
  w.bind(HostTensor::borrow(DType::f32, {32, 2}, block.data() + 1), Contents::of_variable);
  const std::vector<float> before = block;
  step.run({b.x, b.y});
  EXPECT_NE(block, before);
  EXPECT_EQ(block[0], 0);
}

class OneThread : public Executor {
 public:
  int threads() const override { return 1; }
  void parallel_for(long pieces, void (*f)(void*, long), void* context) override {
    ++calls;
    for (long i = pieces; i-- > 0;) f(context, i);  // any order will do
  }
  long calls = 0;
};

TEST(TrainStep, executors_give_the_same_bits) {
  const auto weight = [](const std::shared_ptr<Executor>& executor) {
    Generator rng(1);
    const nn::Sequential model(nn::Linear(256, 256, rng), nn::GELU(), nn::Linear(256, 256, rng));
    TrainStep step = train_step(model, [&](const Tensor& x) { return mse_loss(model(x), x); },
                                optim::AdamW({.lr = 1e-3}), {{"x", DType::f32, {256, 256}}},
                                {.compile = {.executor = executor}, .clip_norm = 1.0});
    const HostTensor x = rng.normal({256, 256});
    for (int i = 0; i < 3; ++i) step.run({x});
    return model.parameter("0.weight").value();
  };
  const auto host = std::make_shared<OneThread>();
  const HostTensor mine = weight(host);
  EXPECT_GT(host->calls, 0);
  EXPECT_TRUE(mine.same_bits(weight(make_thread_pool(1))));
  EXPECT_TRUE(mine.same_bits(weight(make_thread_pool(3))));
}

// ---- errors

TEST(TrainStepError, inputs_of_a_run) {
  Generator rng(1);
  const nn::Sequential model = mlp(rng);
  TrainStep step = train_step(
      model, [&](const Tensor& x, const Tensor& y) { return mse_loss(model(x), y); },
      optim::SGD({.lr = 0.1}), xy);
  const HostTensor before = model.parameter("0.weight").value();
  const Batch b(rng);
  EXPECT_EQ(message([&] { step.run({b.x}); }),
            "train_step: 1 inputs were given, expected 2: x: f32[64,2], y: f32[64,1]");
  EXPECT_EQ(message([&] { step.run({b.y, b.x}); }),
            "train_step: input 0 `x`: got f32[64,1] on cpu, expected f32[64,2] on cpu");
  EXPECT_EQ(message([&] { step.run({b.x.to(DType::f64), b.y}); }),
            "train_step: input 0 `x`: got f64[64,2] on cpu, expected f32[64,2] on cpu");
  EXPECT_EQ(message([&] { step.output(0); }),
            "train_step: output 0 is outside [0, 0): outputs are what the function returns after "
            "the loss");
  EXPECT_TRUE(model.parameter("0.weight").value().same_bits(before));
}

// A run that fails leaves every Variable as it was.
TEST(TrainStepError, index_out_of_range) {
  Generator rng(1);
  const nn::Embedding table(5, 4, rng);
  TrainStep step = train_step(table, [&](const Tensor& i) { return sum(square(table(i))); },
                              optim::AdamW({.lr = 0.1}), {{"i", DType::i64, {3}}});
  step.run({HostTensor::from<int64_t>({0, 4, 2})});
  const HostTensor before = table.parameter("weight").value();
  const std::string text = message([&] { step.run({HostTensor::from<int64_t>({0, 5, 2})}); });
  EXPECT_NE(text.find("embedding"), std::string::npos) << text;
  EXPECT_NE(text.find("index 5 is out of range"), std::string::npos) << text;
  EXPECT_TRUE(table.parameter("weight").value().same_bits(before));
  EXPECT_EQ(step.steps(), 1);
  step.run({HostTensor::from<int64_t>({0, 1, 2})});
  EXPECT_EQ(step.steps(), 2);
}

std::string trace_error(const nn::Module& model, const TracedFunction& f, int* line,
                        const TrainOptions& options = {}) {
  return after_line(message([&] {
                      train_step(model, f, optim::SGD({.lr = 0.1}), {{"x", DType::f32, {4, 2}}},
                                 options);
                    }),
                    __FILE__, line);
}

TEST(TrainStepError, of_the_loss_function) {
  Generator rng(1);
  const nn::Linear model(2, 2, rng);
  int line = 0;
  EXPECT_EQ(trace_error(
                model, [&](const Tensor& x) { return model(x); }, &line),
            "train_step: the loss is f32[4,2], expected a floating Tensor of one element");
  EXPECT_EQ(trace_error(
                model, [&](const Tensor& x) { return sum(x); }, &line),
            "train_step: the loss depends on no parameter that is trained");
  EXPECT_EQ(trace_error(
                model, [&](const Tensor&) { return Tensors{}; }, &line),
            "train_step: the loss function returns nothing");
  EXPECT_EQ(trace_error(
                model, [&](const Tensor&) { return Tensor(); }, &line),
            "train_step: result 0 of the function is an empty Tensor");
  EXPECT_EQ(
      trace_error(model, [&](const Tensor& x) { return sum(model(x)); }, &line, {.clip_norm = -1}),
      "train_step: clip_norm is -1, expected 0 or more");
  EXPECT_EQ(trace_error(
                model,
                [&](const Tensor& x) {
                  assign(model.parameter("bias"), model(x).sum(0));
                  return sum(model(x));
                },
                &line),
            "train_step: %bias is assigned by the model and trained; freeze it "
            "(set_requires_grad(false)) or make it a buffer");
}

TEST(TrainStepError, of_optimizer_options) {
  EXPECT_NE(message([] { optim::SGD({.lr = -1}); }).find("optim::SGD: lr is -1"),
            std::string::npos);
  EXPECT_NE(message([] { optim::AdamW({.beta1 = 1}); }).find("optim::AdamW: beta1 is 1"),
            std::string::npos);
  EXPECT_NE(message([] { optim::SGD({.nesterov = true}); }).find("momentum of nesterov is 0"),
            std::string::npos);
}

// A program entered twice says so; whichever comes second.
struct Blocking : Executor {
  std::function<void()> inside;
  int threads() const override { return 1; }
  void parallel_for(long pieces, void (*f)(void*, long), void* context) override {
    if (inside) inside();
    for (long i = 0; i < pieces; ++i) f(context, i);
  }
};

TEST(TrainStepError, of_a_run_that_was_entered_twice) {
  const auto executor = std::make_shared<Blocking>();
  CompiledFunction f = compile([](const Tensor& x) { return mm(exp(x), x); },
                               {{"x", DType::f32, {512, 512}}}, {.executor = executor});
  const HostTensor x(DType::f32, {512, 512});
  std::string second;
  executor->inside = [&] {
    if (second.empty()) second = message([&] { f.run({x}); });
  };
  f.run({x});
  EXPECT_EQ(second, "compile: it is running on another thread; one program runs once at a time");
}

// The second run stops before anything changes: the first one's learning rate, for one.
TEST(TrainStepError, of_a_step_that_was_entered_twice) {
  const auto executor = std::make_shared<Blocking>();
  const auto trained = [&](bool enters) {
    Generator rng(1);
    const nn::Linear model(256, 256, rng);
    TrainOptions options;
    options.compile.executor = executor;
    TrainStep step = train_step(
        model, [&](const Tensor& x) { return mean(exp(model(x))); }, optim::SGD({.lr = 0.1}),
        {{"x", DType::f32, {256, 256}}}, options);
    const HostTensor x(DType::f32, {256, 256});
    std::string second;
    executor->inside = [&] {
      if (!enters || !second.empty()) return;
      step.set_learning_rate(0.5);
      second = message([&] { step.run({x}); });
      step.set_learning_rate(0.1);
    };
    step.run({x});
    executor->inside = {};
    EXPECT_EQ(second, enters ? "train_step: it is running on another thread; one program runs once "
                               "at a time"
                             : "");
    EXPECT_EQ(step.steps(), 1);
    return model.parameter("bias").value();
  };
  EXPECT_TRUE(trained(true).same_bits(trained(false)));
}

}  // namespace
}  // namespace cleave
