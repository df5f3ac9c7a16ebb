// Steps on a device that nobody waits for: their numbers, failures, and what is between them.
#include "train/step_outcome.h"

#include <gtest/gtest.h>

#include <thread>

#include "cleave/cleave.h"
#include "test/sample/fake_device.h"
#include "test/trace/traced.h"

namespace cleave {
namespace {

using test::FakeDevice;
using test::message;

// A net with dropout and a second result; the batch is overwritten by the next draw.
struct Session {
  Generator rng{1}, data{2};
  nn::Sequential model{nn::Linear(2, 32, rng), nn::Tanh(), nn::Dropout(0.1),
                       nn::Linear(32, 1, rng)};
  TrainStep step;
  HostTensor x{DType::f32, {64, 2}}, y{DType::f32, {64, 1}};

  explicit Session(std::shared_ptr<Backend> backend = nullptr, TrainOptions options = {}) {
    options.compile.backend = std::move(backend);
    step = train_step(
        model,
        [this](const Tensor& a, const Tensor& b) {
          const Tensor out = model(a);
          return Tensors{mse_loss(out, b), out};
        },
        optim::AdamW({.lr = 1e-2}), {{"x", DType::f32, {64, 2}}, {"y", DType::f32, {64, 1}}},
        options);
  }
  StepResult run() {
    x.copy_from(data.uniform({64, 2}, -1, 1));
    y.copy_from(data.normal({64, 1}));
    return step.run({x, y});
  }
};

std::vector<std::string> differing(const Store& a, const Store& b) {
  std::vector<std::string> out;
  for (const auto& [name, v] : a.entries())
    if (!v.value().same_bits(b.at(name).value())) out.push_back(name);
  return out;
}
using Names = std::vector<std::string>;

std::vector<double> values(const std::vector<StepResult>& results) {
  std::vector<double> out;
  for (const StepResult& r : results) {
    out.push_back(r.loss.value());
    out.push_back(r.grad_norm.value());
  }
  return out;
}

TEST(StepOutcome, a_run_returns_before_the_device_has_begun) {
  FakeDevice device;
  Session s(device.backend);
  const StepResult first = s.run();
  const StepResult second = s.run();
  EXPECT_EQ(device.calls(), 0);
  EXPECT_GT(first.loss.value(), 0);
  const int64_t calls = device.calls();
  EXPECT_GT(calls, 0);
  first.loss.value();
  EXPECT_EQ(device.calls(), calls);
  EXPECT_GT(second.loss, 0);  // reads it
  EXPECT_EQ(device.calls(), 2 * calls);
}

TEST(StepOutcome, numbers_and_parameters_are_those_of_runs_that_are_waited_for) {
  for (const CudaGraphs graphs : {CudaGraphs::automatic, CudaGraphs::off}) {
    FakeDevice device, other;
    const TrainOptions options{.compile = {.cudagraphs = graphs}, .clip_norm = 0.1};
    Session here(nullptr, options), waited(other.backend, options), there(device.backend, options);
    std::vector<StepResult> want, beside, got;
    for (int k = 0; k < 12; ++k) {
      if (k == 7)
        for (Session* s : {&here, &waited, &there}) s->step.set_learning_rate(3e-3);
      want.push_back(here.run());
      beside.push_back(waited.run());
      beside.back().loss.value();
      got.push_back(there.run());
    }
    EXPECT_EQ(values(got), values(want));
    EXPECT_EQ(values(beside), values(want));
    EXPECT_EQ(differing(here.step.store(), there.step.store()), Names());
    EXPECT_EQ(there.step.steps(), 12);
    const bool notes = graphs != CudaGraphs::off;
    EXPECT_EQ(there.step.report().count("cudagraph_records"), notes ? 2 : 0);
    EXPECT_EQ(there.step.report().count("cudagraph_launches"), notes ? 10 : 0);
    EXPECT_EQ(waited.step.report().count("cudagraph_records"), notes ? 1 : 0);
    EXPECT_EQ(waited.step.report().count("cudagraph_launches"), notes ? 11 : 0);
    EXPECT_EQ(there.step.report().count("cudagraph_skips"), 0);
    EXPECT_FALSE(here.step.report().counters.contains("cudagraph_skips"));
    EXPECT_EQ(device.wrong() + other.wrong(), "");
  }
}

TEST(StepOutcome, numbers_outlive_the_step_and_its_later_runs) {
  FakeDevice device;
  std::vector<StepResult> want, got;
  {
    Session here, there(device.backend);
    for (int k = 0; k < 30; ++k) {
      want.push_back(here.run());
      got.push_back(there.run());
    }
  }
  EXPECT_EQ(values(got), values(want));
}

TEST(StepOutcome, other_threads_may_read_them) {
  FakeDevice device;
  Session here, there(device.backend);
  std::vector<double> want(20), got(20);
  std::vector<std::thread> readers;
  for (size_t k = 0; k < got.size(); ++k) {
    want[k] = here.run().loss;
    readers.emplace_back([&, k, loss = there.run().loss] { got[k] = loss; });
  }
  for (std::thread& t : readers) t.join();
  EXPECT_EQ(got, want);
}

TEST(StepOutcome, outputs_are_those_of_the_last_run) {
  FakeDevice device;
  Session here, there(device.backend);
  for (int k = 0; k < 5; ++k) {
    here.run();
    there.run();
    if (k % 2 == 1) { EXPECT_TRUE(there.step.output(0).same_bits(here.step.output(0))) << k; }
  }
}

TEST(StepOutcome, what_the_host_reads_and_writes_between_runs) {
  FakeDevice device;
  Session here, there(device.backend);
  Session* const sessions[] = {&here, &there};
  HostTensor read[2][2];
  std::vector<CompiledFunction> predict;
  for (Session* s : sessions)
    predict.push_back(compile(s->model, [s](const Tensor& a) { return s->model(a); },
                              {{"a", DType::f32, {64, 2}}},
                              {.backend = s == &there ? device.backend : nullptr}));
  for (int k = 0; k < 6; ++k)
    for (int n = 0; n < 2; ++n) {
      Session& s = *sessions[n];
      s.run();
      Variable bias = s.model.parameter("0.bias");
      if (k == 1) read[n][0] = bias.value();
      if (k == 2) bias.set(HostTensor(DType::f32, {32}));
      if (k == 3) s.model.parameter("3.weight").data<float>()[0] += 1;
      if (k == 4) read[n][1] = predict[n].run({s.x})[0];
    }
  for (int k = 0; k < 2; ++k) EXPECT_TRUE(read[0][k].same_bits(read[1][k])) << k;
  EXPECT_EQ(differing(here.step.store(), there.step.store()), Names());
  EXPECT_EQ(device.wrong(), "");
}

// A run that is queued reads what a Variable had when it was started.
TEST(StepOutcome, what_the_host_writes_into_a_variable_that_runs_only_read) {
  FakeDevice device;
  std::vector<double> losses[2];
  for (const bool is_there : {false, true}) {
    Generator rng(1);
    const nn::Linear model(2, 1, rng), teacher(2, 1, rng);
    TrainStep step =
        train_step(model, [&](const Tensor& x) { return mse_loss(model(x), teacher(x)); },
                   optim::AdamW({.lr = 1e-2}), {{"x", DType::f32, {8, 2}}},
                   {.compile = {.backend = is_there ? device.backend : nullptr},
                    .frozen = {{"teacher.", teacher}}});
    std::vector<StepResult> results;
    for (int k = 0; k < 5; ++k) {
      results.push_back(step.run({rng.normal({8, 2})}));
      Variable bias = teacher.parameter("bias");
      bias.set(HostTensor::from<float>({static_cast<float>(k)}));
    }
    for (const StepResult& r : results) losses[is_there].push_back(r.loss);
  }
  EXPECT_EQ(losses[1], losses[0]);
  EXPECT_EQ(device.wrong(), "");
}

TEST(StepOutcome, gradients_are_gathered_unwaited) {
  FakeDevice device;
  const TrainOptions options{.clip_norm = 1, .accumulate = 3, .ema_decay = 0.9};
  Session here(nullptr, options), there(device.backend, options);
  std::vector<StepResult> want, got;
  for (int k = 0; k < 11; ++k) {
    want.push_back(here.run());
    got.push_back(there.run());
  }
  EXPECT_EQ(values(got), values(want));
  EXPECT_EQ(there.step.steps(), 3);
  EXPECT_EQ(differing(here.step.store(), there.step.store()), Names());
}

TEST(StepOutcome, sizes_vary) {
  FakeDevice device;
  Generator rng(1);
  const nn::Linear a(2, 3, rng), b = [] {
    Generator same(1);
    return nn::Linear(2, 3, same);
  }();
  const auto made = [](const nn::Linear& model, std::shared_ptr<Backend> backend) {
    return train_step(model,
                      [&model](const Tensor& x) {
                        const Tensor y = model(x);
                        return mean(y * y);
                      },
                      optim::AdamW({.lr = 1e-2}), {{"x", DType::f32, {dyn("B", 1, 64), 2}}},
                      {.compile = {.backend = std::move(backend)}});
  };
  TrainStep here = made(a, nullptr), there = made(b, device.backend);
  std::vector<StepResult> want, got;
  for (const int64_t rows : {64, 64, 3, 3, 3, 64, 17, 3, 64, 64}) {
    const HostTensor x = rng.normal({rows, 2});
    want.push_back(here.run({x}));
    got.push_back(there.run({x}));
  }
  EXPECT_EQ(values(got), values(want));
  EXPECT_EQ(differing(here.store(), there.store()), Names());
  EXPECT_EQ(device.wrong(), "");
}

struct Lookup final : nn::Module {
  Generator rng{1};
  nn::Embedding table{add_module("table", nn::Embedding(5, 3, rng))};
  TrainStep step(const TrainOptions& options) const {
    return train_step(
        *this, [this](const Tensor& i) { return mean(table(i)); }, optim::AdamW({.lr = 0.1}),
        {{"i", DType::i64, {4}}}, options);
  }
};

// On the CPU a good run, and one that fails; on the device the two and a third one, unwaited.
struct Failing {
  FakeDevice device;
  const Lookup mine, its;
  TrainStep here, there;
  HostTensor good = HostTensor::from<int64_t>({0, 1, 2, 3});
  HostTensor bad = HostTensor::from<int64_t>({0, 1, 7, 3});
  std::string said;
  StepResult ran, failed, behind;

  explicit Failing(int before = 0)
      : here(mine.step({})), there(its.step({.compile = {.backend = device.backend}})) {
    for (int k = 0; k < before; ++k) {
      here.run({good});
      there.run({good});
    }
    here.run({good});
    said = message([&] { here.run({bad}); });
    ran = there.run({good});
    failed = there.run({bad});
    behind = there.run({good});
  }
  void go_on() {
    EXPECT_EQ(differing(here.store(), there.store()), Names());
    for (int k = 0; k < 3; ++k) EXPECT_EQ(there.run({good}).loss, here.run({good}).loss);
    EXPECT_EQ(differing(here.store(), there.store()), Names());
    EXPECT_EQ(there.steps(), here.steps());
    EXPECT_EQ(device.wrong(), "");
  }
};

TEST(StepOutcome, a_failure_is_told_with_its_line_by_the_loss_that_belongs_to_it) {
  for (const int before : {0, 6}) {
    Failing f(before);
    EXPECT_NE(f.said.find("index 7"), std::string::npos) << f.said;
    EXPECT_EQ(message([&] { f.ran.loss.value(); }), "no error");
    for (int k = 0; k < 2; ++k) EXPECT_EQ(message([&] { f.failed.loss.value(); }), f.said);
    EXPECT_EQ(message([&] { f.behind.loss.value(); }), f.said);
    EXPECT_EQ(message([&] { f.behind.grad_norm.value(); }), f.said);
    f.go_on();
  }
}

TEST(StepOutcome, a_failure_is_told_by_a_run_behind_it_that_did_nothing) {
  Failing f;
  EXPECT_EQ(message([&] { f.behind.loss.value(); }), f.said);
  f.go_on();
}

TEST(StepOutcome, a_failure_is_told_by_the_next_run_which_is_not_made) {
  Failing f;
  EXPECT_EQ(message([&] { f.there.run({f.good}); }), f.said);
  f.go_on();
}

TEST(StepOutcome, a_failure_is_told_by_a_number_of_a_run_that_was_waited_for_before) {
  Failing f;
  f.there.measured_peak_bytes();  // which waits, and tells nobody
  EXPECT_EQ(message([&] { f.failed.loss.value(); }), f.said);
  f.go_on();
}

TEST(StepOutcome, a_failure_is_told_by_what_reads_a_variable) {
  Failing f;
  EXPECT_EQ(message([&] { f.there.steps(); }), f.said);
  f.go_on();
}

TEST(StepOutcome, a_failure_is_told_by_a_program_that_reads_the_parameters) {
  Failing f;
  CompiledFunction mean_of = compile(f.its, [&](const Tensor& i) { return mean(f.its.table(i)); },
                                     {{"i", DType::i64, {4}}}, {.backend = f.device.backend});
  EXPECT_NE(message([&] { mean_of.run({f.good}); }).find(f.said), std::string::npos);
  EXPECT_EQ(message([&] { mean_of.run({f.good}); }), "no error");
  f.go_on();
}

// The run behind it may be the one that updates the parameters, which is another program's.
TEST(StepOutcome, a_failure_while_gradients_are_gathered) {
  for (const int before : {0, 1, 2, 3, 6}) {
    FakeDevice device;
    const Lookup mine, its;
    TrainStep here = mine.step({.accumulate = 4});
    TrainStep there = its.step({.compile = {.backend = device.backend}, .accumulate = 4});
    const HostTensor good = HostTensor::from<int64_t>({0, 1, 2, 3});
    const HostTensor bad = HostTensor::from<int64_t>({0, 1, 7, 3});
    for (int k = 0; k < before; ++k) {
      here.run({good});
      there.run({good});
    }
    const std::string said = message([&] { here.run({bad}); });
    EXPECT_EQ(message([&] {
                there.run({bad});
                there.run({good});
                there.store().at("optimizer.micro_step").value();
              }),
              said)
        << before;
    EXPECT_EQ(differing(here.store(), there.store()), Names()) << before;
    for (int k = 0; k < 7; ++k) EXPECT_EQ(there.run({good}).loss, here.run({good}).loss);
    EXPECT_EQ(differing(here.store(), there.store()), Names()) << before;
    EXPECT_EQ(there.steps(), here.steps());
  }
}

TEST(StepOutcome, why_runs_are_no_graphs_is_said_once_and_counted) {
  FakeDevice device;
  device.set_library_waits(true);
  std::vector<std::string> said;
  const CompileLog log = [&](LogLevel level, const std::string& text) {
    if (level == LogLevel::warning) said.push_back(text);
  };
  Session s(device.backend, {.compile = {.log = log}});
  for (int k = 0; k < 6; ++k) s.run();
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].find("skipping cudagraphs due to incompatible op %"), 0u) << said[0];
  const Report& report = s.step.report();
  EXPECT_EQ(report.count("cudagraph_skips"), 4);
  EXPECT_EQ(report.count("cudagraph_launches"), 0);
  ASSERT_EQ(report.warnings.size(), 1u);
  EXPECT_EQ(report.warnings[0].code, "cudagraphs");
  EXPECT_EQ(report.warnings[0].text, said[0]);
}

TEST(StepOutcome, graphs_are_skipped_for_too_many_sizes) {
  FakeDevice device(64 << 20, Device::cuda(0), CompilerChoice::none);
  std::vector<std::string> said;
  const CompileLog log = [&](LogLevel level, const std::string& text) {
    if (level == LogLevel::warning) said.push_back(text);
  };
  CompiledFunction f =
      compile([](const Tensor& a) { return a * 2.0; }, {{"a", DType::f32, {dyn("B", 1, 60)}}},
              {.compiler = CompilerChoice::none, .backend = device.backend, .log = log});
  for (int64_t rows = 1; rows <= 51; ++rows) {
    HostTensor a(DType::f32, {rows});
    a.set_number(rows - 1, 3);
    for (int k = 0; k < 2; ++k) EXPECT_EQ(f.run({a})[0].number(rows - 1), 6);
    EXPECT_EQ(f.report().count("cudagraph_records"), rows <= 50) << rows;
  }
  EXPECT_EQ(said, Names{"skipping cudagraphs due to too many sizes (51)"});
}

}  // namespace
}  // namespace cleave
