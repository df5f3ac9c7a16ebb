// Training steps and functions whose memory is a device's: the CPU's bits, and what is copied.
// tests: exec/device_variable.cpp trace/variable_state.cpp
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <thread>

#include "cleave/cleave.h"
#include "test/sample/fake_device.h"
#include "test/trace/traced.h"

namespace cleave {
namespace {

using test::FakeDevice;
using test::message;

const std::vector<InputSpec> specs = {{"x", DType::f32, {64, 2}}, {"y", DType::f32, {64, 1}}};

// A net, its step and data; with a backend, on that one's device.
struct Session {
  Generator rng{1}, data{2};
  nn::Sequential model{nn::Linear(2, 32, rng), nn::Tanh(), nn::Dropout(0.1),
                       nn::Linear(32, 1, rng)};
  TrainStep step;
  HostTensor x, y;

  explicit Session(std::shared_ptr<Backend> backend = nullptr, TrainOptions options = {}) {
    options.compile.backend = std::move(backend);
    step = train_step(
        model, [this](const Tensor& a, const Tensor& b) { return mse_loss(model(a), b); },
        optim::AdamW({.lr = 1e-2}), specs, options);
  }
  void draw() {
    x = data.uniform({64, 2}, -1, 1);
    y = data.normal({64, 1});
  }
  StepResult run() {
    draw();
    const StepResult result = step.run({x, y});
    result.loss.value();  // waits
    return result;
  }
};

// The names of what differs.
std::vector<std::string> differing(const Store& a, const Store& b) {
  std::vector<std::string> out;
  for (const auto& [name, v] : a.entries())
    if (!v.value().same_bits(b.at(name).value())) out.push_back(name);
  return out;
}

using Names = std::vector<std::string>;

TEST(DeviceStep, losses_and_parameters_have_the_cpus_bits) {
  FakeDevice device;
  Session here, there(device.backend);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(there.run().loss, here.run().loss);
  EXPECT_EQ(differing(here.step.store(), there.step.store()), Names());
  EXPECT_EQ(there.step.steps(), 5);
  // A device's storages are rounded up further.
  EXPECT_GE(there.step.report().planned_peak_bytes, here.step.report().planned_peak_bytes);
  there.step.watch_memory();
  there.run();
  EXPECT_EQ(there.step.measured_peak_bytes(), there.step.report().planned_peak_bytes);
  EXPECT_EQ(device.wrong(), "");
}

TEST(DeviceStep, a_backend_that_was_made_for_another_order_of_sums_is_refused) {
  FakeDevice device;
  const std::string text = message([&] {
    Session s(device.backend, {.compile = {.device = Device::cuda(), .deterministic = false}});
  });
  EXPECT_TRUE(
      text.ends_with(": deterministic: false, but the backend that is given was made for true"))
      << text;
}

TEST(DeviceStep, a_run_copies_its_inputs_the_rate_and_the_loss) {
  FakeDevice device;
  Session s(device.backend);
  s.run();
  const FakeDevice::Copies first = device.copies();
  EXPECT_GT(first.in_bytes, s.step.store().bytes());
  for (int i = 0; i < 3; ++i) {
    s.run();
    const FakeDevice::Copies c = device.copies();
    EXPECT_EQ(c.in_bytes, s.x.bytes() + s.y.bytes() + 8);
    EXPECT_EQ(c.out_bytes, 4);
    EXPECT_EQ(c.in, 3);
    EXPECT_EQ(c.out, 1);
  }
  const Variable weight = s.model.parameter("0.weight");
  weight.value();
  weight.value();
  EXPECT_EQ(device.copies().out_bytes, weight.value().bytes());
}

TEST(DeviceStep, what_the_host_writes_is_copied_once) {
  FakeDevice device;
  Session here, there(device.backend);
  for (Session* s : {&here, &there}) {
    s->run();
    Variable bias = s->model.parameter("0.bias");
    bias.set(HostTensor(DType::f32, {32}));
    bias.data<float>()[3] = 2;
    s->model.parameter("3.weight").data<float>()[0] += 1;  // the others' elements stay
    device.copies();
    s->run();
  }
  EXPECT_EQ(device.copies().in_bytes, there.x.bytes() + there.y.bytes() + 8 + 32 * 4 + 32 * 4);
  EXPECT_EQ(differing(here.step.store(), there.step.store()), Names());
  there.run();
  EXPECT_EQ(device.copies().in, 3 + 0);
}

TEST(DeviceStep, memory_of_the_caller_moves_a_variable) {
  FakeDevice device;
  Session here, there(device.backend);
  HostTensor memory[2] = {HostTensor(DType::f32, {32}), HostTensor(DType::f32, {32})};
  Session* const sessions[] = {&here, &there};
  for (int k = 0; k < 2; ++k) {
    sessions[k]->run();
    Variable v = sessions[k]->model.parameter("0.bias");
    v.bind(HostTensor::borrow(DType::f32, {32}, memory[k].data()), Contents::of_variable);
    sessions[k]->run();
    v.value();
  }
  EXPECT_TRUE(memory[0].same_bits(memory[1]));
  EXPECT_EQ(differing(here.step.store(), there.step.store()), Names());
}

TEST(DeviceStep, functions_read_the_variables_where_they_are) {
  FakeDevice device;
  Session s(device.backend);
  s.run();
  const auto forward = [&](const Tensor& a) { return s.model(a); };
  CompiledFunction there = compile(s.model, forward, {specs[0]}, {.backend = device.backend});
  CompiledFunction beside =
      compile(s.model, forward, {specs[0]}, {.backend = device.other_backend()});
  CompiledFunction here = compile(s.model, forward, {specs[0]});
  device.copies();
  const HostTensor want = there.run({s.x})[0];
  EXPECT_EQ(device.copies().in_bytes, s.x.bytes());
  EXPECT_TRUE(beside.run({s.x})[0].same_bits(want));
  EXPECT_EQ(device.copies().in_bytes, s.x.bytes());
  EXPECT_TRUE(here.run({s.x})[0].same_bits(want));
  s.run();  // the CPU sees what the device has written since
  EXPECT_TRUE(here.run({s.x})[0].same_bits(there.run({s.x})[0]));
  EXPECT_FALSE(here.run({s.x})[0].same_bits(want));
  EXPECT_EQ(device.wrong(), "");
}

TEST(DeviceStep, variables_move_from_device_to_device) {
  FakeDevice first, second(64 << 20, Device::cuda(1));
  Session here, there(first.backend);
  here.run();
  there.run();
  TrainStep elsewhere = train_step(
      there.model, [&](const Tensor& a, const Tensor& b) { return mse_loss(there.model(a), b); },
      optim::AdamW({.lr = 1e-2}), specs, {.compile = {.backend = second.backend}},
      there.step.store());
  here.run();
  there.draw();
  elsewhere.run({there.x, there.y});
  here.run();
  there.run();
  EXPECT_EQ(differing(here.step.store(), there.step.store()), Names());
  EXPECT_EQ(first.wrong() + second.wrong(), "");
}

TEST(DeviceStep, results_are_kept_by_copies_and_inputs_may_be_results) {
  FakeDevice device;
  CompiledFunction f = compile([](const Tensor& a) { return a * 2.0 + 1.0; },
                               {{"a", DType::f32, {100}}}, {.backend = device.backend});
  HostTensor a(DType::f32, {100});
  const HostTensor one = f.run({a})[0];
  const HostTensor view = f.output_view(0);
  EXPECT_EQ(view.number(99), 1);
  const InputRef again[] = {view};
  f.run_in_place(again);  // its memory is written by this very run
  EXPECT_EQ(f.output(0).number(99), 3);
  EXPECT_EQ(one.number(99), 1);
  EXPECT_EQ(f.run(HostTensors{one})[0].number(0), 3);
  EXPECT_EQ(device.wrong(), "");
}

TEST(DeviceStep, inputs_that_are_updated_come_back) {
  FakeDevice device;
  CompiledFunction f = compile(
      [](const Tensor& a) {
        assign(a, a + 1.0);
        return sum(a);
      },
      {{.name = "a", .dtype = DType::f32, .shape = {100}, .is_updated = true}},
      {.backend = device.backend});
  HostTensor a(DType::f32, {100});
  EXPECT_EQ(f.run({a})[0].item(), 0);
  EXPECT_EQ(f.run({a})[0].item(), 100);
  EXPECT_EQ(a.number(7), 2);
}

struct Lookup : nn::Module {
  Generator rng{1};
  nn::Embedding table{add_module("table", nn::Embedding(5, 3, rng))};
  TrainStep step(const TrainOptions& options) const {
    return train_step(
        *this, [this](const Tensor& i) { return mean(table(i)); }, optim::AdamW({.lr = 0.1}),
        {{"i", DType::i64, {4}}}, options);
  }
};

TEST(DeviceStep, a_failed_run_leaves_the_store_as_it_was) {
  FakeDevice device;
  const Lookup here, there;
  TrainStep want = here.step({}), got = there.step({.compile = {.backend = device.backend}});
  const HostTensor good = HostTensor::from<int64_t>({0, 1, 2, 3});
  HostTensor bad = HostTensor::from<int64_t>({0, 1, 7, 3});
  want.run({good});
  got.run({good});
  const std::string said = message([&] { got.run({bad}).loss.value(); });
  EXPECT_EQ(said, message([&] { want.run({bad}); }));
  EXPECT_NE(said.find("index 7"), std::string::npos);
  EXPECT_EQ(differing(want.store(), got.store()), Names());
  EXPECT_EQ(got.run({good}).loss, want.run({good}).loss);
  EXPECT_EQ(differing(want.store(), got.store()), Names());
}

TEST(DeviceStep, checkpoints_hold_what_the_device_has) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("cleave_device_step_{}", getpid());
  std::filesystem::create_directories(folder);
  const std::string path = (folder / "c.safetensors").string();
  FakeDevice device;
  Session s(device.backend), other(device.backend);
  for (int i = 0; i < 3; ++i) s.run();
  save_checkpoint(path, s.step.store());
  other.run();
  load_checkpoint(path, other.step.store());
  EXPECT_EQ(differing(s.step.store(), other.step.store()), Names());
  s.draw();
  EXPECT_EQ(s.step.run({s.x, s.y}).loss, other.step.run({s.x, s.y}).loss);
  EXPECT_EQ(differing(s.step.store(), other.step.store()), Names());
  std::filesystem::remove_all(folder);
}

TEST(DeviceStep, two_steps_on_one_device_at_a_time) {
  FakeDevice device;
  Session want;
  for (int i = 0; i < 10; ++i) want.run();
  Session a(device.backend), b(device.backend);
  const auto ten = [](Session& s) {
    for (int i = 0; i < 10; ++i) s.run();
  };
  std::thread other([&] { ten(a); });
  ten(b);
  other.join();
  EXPECT_EQ(differing(want.step.store(), a.step.store()), Names());
  EXPECT_EQ(differing(want.step.store(), b.step.store()), Names());
  EXPECT_EQ(device.wrong(), "");
}

TEST(DeviceStep, instances_read_one_model_at_a_time) {
  FakeDevice device;
  Session s(device.backend);
  s.run();
  CompiledFunction f = compile(s.model, [&](const Tensor& a) { return s.model(a); }, {specs[0]},
                               {.backend = device.backend});
  const HostTensor want = f.run({s.x})[0];
  Variable bias = s.model.parameter("0.bias");
  bias.set(HostTensor(bias.value()));  // which the first of them copies in
  std::vector<int> wrong(2);
  std::vector<std::thread> threads;
  for (int k = 0; k < 2; ++k)
    threads.emplace_back([&, k, mine = f.instance()]() mutable {
      for (int i = 0; i < 20; ++i) wrong[k] += !mine.run({s.x})[0].same_bits(want);
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, (std::vector<int>{0, 0}));
  EXPECT_EQ(device.wrong(), "");
}

TEST(DeviceStep, budgets_accumulation_and_averages) {
  FakeDevice device;
  const TrainOptions options{.compile = {.memory_budget = MemoryBudget::percent(100)},
                             .clip_norm = 1,
                             .accumulate = 2,
                             .ema_decay = 0.9};
  Session here(nullptr, options), there(device.backend, options);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(there.run().loss, here.run().loss);
  EXPECT_EQ(there.step.steps(), 3);
  there.step.watch_memory();
  here.run();
  here.run();
  there.run();
  there.run();
  EXPECT_EQ(there.step.measured_peak_bytes(), there.step.report().planned_peak_bytes);
  EXPECT_EQ(differing(here.step.store(), there.step.store()), Names());
  here.step.use_ema(true);
  there.step.use_ema(true);
  EXPECT_EQ(differing(here.step.store(), there.step.store()), Names());
  here.step.use_ema(false);
  there.step.use_ema(false);
  EXPECT_EQ(there.run().loss, here.run().loss);
  EXPECT_EQ(device.wrong(), "");
}

TEST(DeviceStep, losses_that_are_not_finite) {
  FakeDevice device;
  for (const NonFinite what : {NonFinite::skip_step, NonFinite::error}) {
    Session here(nullptr, {.on_nonfinite = what}), there(device.backend, {.on_nonfinite = what});
    std::string said[2];
    Session* const sessions[] = {&here, &there};
    for (int k = 0; k < 2; ++k) {
      Session& s = *sessions[k];
      s.run();
      s.draw();
      s.x.at<float>({3, 1}) = std::numeric_limits<float>::infinity();
      if (what == NonFinite::skip_step) {
        EXPECT_TRUE(s.step.run({s.x, s.y}).skipped);
      } else {
        said[k] = message([&] { s.step.run({s.x, s.y}); });
      }
      s.run();
    }
    EXPECT_EQ(said[0], said[1]);
    EXPECT_EQ(said[1].empty(), what == NonFinite::skip_step);
    EXPECT_EQ(differing(here.step.store(), there.step.store()), Names());
  }
  EXPECT_EQ(device.wrong(), "");
}

TEST(DeviceStep, sizes_vary_in_one_arena) {
  FakeDevice device;
  Generator rng(1);
  const nn::Linear model(2, 3, rng);
  const auto made = [&](std::shared_ptr<Backend> backend) {
    return compile(model, [&](const Tensor& a) { return softmax(model(a), 1); },
                   {{"a", DType::f32, {dyn("B", 1, 64), 2}}}, {.backend = std::move(backend)});
  };
  CompiledFunction here = made(nullptr), there = made(device.backend);
  for (const int64_t b : {64, 3, 17, 3, 64}) {
    const HostTensor a = rng.normal({b, 2});
    EXPECT_TRUE(there.run({a})[0].same_bits(here.run({a})[0])) << b;
  }
  EXPECT_EQ(device.wrong(), "");
}

TEST(DeviceStep, a_frozen_function_computes_once_what_does_not_change) {
  FakeDevice device;
  Generator rng(1);
  const nn::Linear model(2, 3, rng);
  const auto forward = [&](const Tensor& a) {
    return matmul(a, exp(Tensor(model.parameter("weight"))).transpose(0, 1));
  };
  CompiledFunction f =
      compile(model, forward, {specs[0]}, {.backend = device.backend, .freeze = true});
  const HostTensor a = rng.normal({64, 2});
  const HostTensor want = compile(model, forward, {specs[0]}).run({a})[0];
  EXPECT_TRUE(f.run({a})[0].same_bits(want));
  device.copies();
  EXPECT_TRUE(f.run({a})[0].same_bits(want));
  EXPECT_EQ(device.copies().in_bytes, a.bytes());
  EXPECT_EQ(device.wrong(), "");
}

// With types of the device: rules that look at it may choose other calls.
TEST(DeviceStep, graphs_lie_on_the_device_of_the_options) {
  FakeDevice device;
  Session here, there(device.backend, {.compile = {.device = Device::cuda()}});
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(there.run().loss, here.run().loss, 1e-6);
  EXPECT_NE(there.step.graph_text().find("%x: input f32[64,2]@cuda:0"), std::string::npos);
  EXPECT_EQ(there.step.graph_text().find("f32[64,2],"), std::string::npos);
  EXPECT_EQ(device.wrong(), "");
  const std::vector<MemoryTrade> trades = memory_trades(
      there.model, [&](const Tensor& a, const Tensor& b) { return mse_loss(there.model(a), b); },
      optim::AdamW({.lr = 1e-2}), specs,
      {.compile = {.device = Device::cuda(), .backend = device.backend}});
  EXPECT_FALSE(trades.empty());
}

TEST(DeviceStep, code_of_the_host_program_is_refused) {
  FakeDevice device;
  Operators ops;
  ops.add({.name = "same",
           .signature = "(Tensor x) -> Tensor",
           .infer = [](const OpCall& op) { return std::vector{op.operand(0)}; },
           .reference = [](const OpCall&, const HostTensors& in,
                           HostTensors& out) { out[0].copy_from(in[0]); },
           .callback = [](const OpCall&) { return [](const OpMemory&) {}; }});
  EXPECT_NE(message([&] {
              compile([](const Tensor& x) { return call("same", {x})[0]; },
                      {{"x", DType::f32, {4}}}, {.backend = device.backend, .ops = ops});
            })
                .find("is computed by code of the host program, which can't read the memory of "
                      "cuda:0"),
            std::string::npos);
}

TEST(DeviceStep, too_little_memory_is_told_before_the_first_step) {
  int64_t arena = 0;
  {
    FakeDevice device;
    const Session s(device.backend);
    arena = (s.step.report().arena_bytes + 255) / 256 * 256;
  }
  FakeDevice device(arena + 512);
  const std::string said = message([&] { const Session s(device.backend); });
  EXPECT_NE(said.find(fmt::format("B of {} are free; Variables and inputs need ", arena + 512)),
            std::string::npos)
      << said;
}

}  // namespace
}  // namespace cleave
