// Instances whose memory is a device's: what is copied there and back, failures, two at a time.
// tests: device_operands.cpp
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>
#include <thread>

#include "exec/executable.h"
#include "ir/strides.h"
#include "test/exec/step_text.h"
#include "test/random_inputs.h"
#include "test/sample/fake_device.h"

namespace cleave {
namespace {

using test::core;
using test::FakeDevice;
using test::loop_text;
using test::parsed;
using test::step_text;

std::shared_ptr<const CompiledProgram> compiled(const std::string& text,
                                                std::shared_ptr<Backend> backend = nullptr,
                                                bool fuse = true) {
  StageOptions options;
  options.fuse = fuse;
  options.executor = make_thread_pool(2);
  options.backend = std::move(backend);
  return value_or_throw(CompiledProgram::compile(parsed(text), core(), options));
}

std::unique_ptr<Instance> instance(std::shared_ptr<const CompiledProgram> p) {
  return value_or_throw(Instance::make(std::move(p), make_thread_pool(2)));
}

struct Step {
  std::vector<float> w = std::vector<float>(300 * 40, 1.0f);
  std::vector<int64_t> i = {0, 299, 7, 3, 3};
  float lr = 0.5f;
  std::unique_ptr<Instance> run;

  explicit Step(const std::shared_ptr<const CompiledProgram>& p) : run(instance(p)) {
    EXPECT_TRUE(run->bind(0, std::span(w)).ok() && run->bind(1, std::span(i)).ok() &&
                run->bind(2, std::span(&lr, 1)).ok());
  }
};

TEST(DeviceOperands, inputs_go_there_and_results_and_updates_come_back) {
  FakeDevice device;
  const auto p = compiled(step_text, device.backend);
  Step s(p);
  s.run->fill_arena_pattern();
  ASSERT_TRUE(s.run->run().ok());
  EXPECT_EQ(static_cast<const float*>(s.run->result(0))[0], 5.0f);
  EXPECT_EQ(s.run->result(1), s.w.data());
  for (const float x : s.w) ASSERT_EQ(x, 1.0f - 2.5f);
  EXPECT_EQ(s.run->touched_arena_bytes() + p->report().placeholder_bytes,
            p->report().planned_peak_bytes);
  s.i = {0, 0, 0, 0, 0};  // the next run reads what is there then
  s.lr = 0;
  ASSERT_TRUE(s.run->run().ok());
  EXPECT_EQ(static_cast<const float*>(s.run->result(0))[39], -7.5f);
  EXPECT_EQ(device.wrong(), "");
}

TEST(DeviceOperands, copies_are_those_of_operands_and_of_results_that_are_asked_for) {
  FakeDevice device;
  const auto p = compiled(R"(graph @main(%x: input f32[50,40], %w: const f32[40]) {
    %y = mul(%x, %w)
    %s = sum(%y)
    return %y, %s
  })",
                          device.backend);
  auto run = instance(p);
  std::vector<float> x(2000, 0.5f), w(40, 2.0f);
  ASSERT_TRUE(run->bind(0, std::span(x)).ok());
  ASSERT_TRUE(run->bind(1, {w.data(), 160, DType::f32, /*is_constant=*/true}).ok());
  const auto expect = [&](int64_t in, int64_t out) {
    const FakeDevice::Copies c = device.copies();
    EXPECT_EQ(c.in_bytes, in);
    EXPECT_EQ(c.out_bytes, out);
  };
  ASSERT_TRUE(run->run().ok());
  expect(8000 + 160, 4);
  EXPECT_EQ(*static_cast<const float*>(run->result(1)), 2000.0f);
  expect(0, 0);
  EXPECT_EQ(static_cast<const float*>(run->result(0))[1999], 1.0f);
  run->result(0);
  expect(0, 8000);
  ASSERT_TRUE(run->run().ok());
  expect(8000, 4);
  w.assign(40, 3.0f);
  ASSERT_TRUE(run->bind(1, {w.data(), 160, DType::f32, true}).ok());
  ASSERT_TRUE(run->run().ok());
  EXPECT_EQ(*static_cast<const float*>(run->result(1)), 3000.0f);
  EXPECT_EQ(device.wrong(), "");
}

TEST(DeviceOperands, memory_of_the_device_is_bound_as_it_is) {
  FakeDevice device;
  auto run = instance(compiled(step_text, device.backend));
  Step host(compiled(step_text));
  const auto memory = run->device_memory();
  ASSERT_TRUE(memory);
  const int64_t bytes = 300 * 40 * 4;
  const DeviceBlock w = value_or_throw(DeviceBlock::make(memory, bytes));
  ASSERT_TRUE(memory->copy_in(w.data(), host.w.data(), bytes, nullptr).ok());
  ASSERT_TRUE(run->bind_there(0, w.data(), bytes).ok());
  EXPECT_EQ(run->bind_there(0, w.data(), bytes - 1).failure().kind, ErrorKind::bug);
  ASSERT_TRUE(run->bind(1, std::span(host.i)).ok() && run->bind(2, std::span(&host.lr, 1)).ok());
  device.copies();
  ASSERT_TRUE(run->run().ok());
  EXPECT_EQ(device.copies().out, 1);  // the sums; not w
  ASSERT_TRUE(host.run->run().ok());
  EXPECT_EQ(std::memcmp(run->result(1), host.w.data(), bytes), 0);  // asked for
  EXPECT_EQ(device.copies().out_bytes, bytes);
  EXPECT_EQ(device.wrong(), "");
}

TEST(DeviceOperands, a_failed_check_has_the_cpus_words_and_leaves_what_is_bound_as_it_was) {
  FakeDevice device;
  Step there(compiled(step_text, device.backend)), here(compiled(step_text));
  here.i[4] = there.i[4] = 300;
  const Status want = here.run->run(), got = there.run->run();
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.failure().message, want.failure().message);
  EXPECT_NE(got.failure().message.find("%i[4]"), std::string::npos) << got.failure().message;
  for (const float x : there.w) ASSERT_EQ(x, 1.0f);
  there.i[4] = 4;
  EXPECT_TRUE(there.run->run().ok());
  EXPECT_EQ(there.w[0], 1.0f - 2.5f);
}

// Two calls of one kernel: the second one fails.
TEST(DeviceOperands, a_failed_check_names_its_call) {
  const char* text = R"(graph @main(%w: param f32[9,4], %i: input i64[3], %j: input i64[3]) {
    %a = embedding(%w, %i)
    %b = embedding(%w, %j)
    return %a, %b
  })";
  FakeDevice device;
  std::string messages[2];
  for (const bool is_there : {false, true}) {
    auto run = instance(compiled(text, is_there ? device.backend : nullptr, /*fuse=*/false));
    std::vector<float> w(36);
    std::vector<int64_t> i = {0, 1, 2}, j = {0, 9, 2};
    ASSERT_TRUE(run->bind(0, std::span(w)).ok() && run->bind(1, std::span(i)).ok() &&
                run->bind(2, std::span(j)).ok());
    messages[is_there] = run->run().failure().message;
  }
  EXPECT_EQ(messages[0], messages[1]);
  EXPECT_NE(messages[1].find("%j[1]"), std::string::npos) << messages[1];
}

// Unlike kernels they go on behind it.
TEST(DeviceOperands, library_calls_behind_a_failed_check_write_no_placeholder) {
  FakeDevice device;
  auto run = instance(compiled(R"(
  graph @main(%u: buffer f32[64,64], %x: input f32[64,64], %i: input i64[3]) {
    %e = embedding(%x, %i)
    %p = mm(%x, %x)
    return %e, %p -> %u
  })",
                               device.backend));
  const auto memory = run->device_memory();
  std::vector<float> u(64 * 64, 7.0f), x(64 * 64, 1.0f);
  std::vector<int64_t> i = {0, 64, 2};
  const int64_t bytes = 64 * 64 * 4;
  const DeviceBlock block = value_or_throw(DeviceBlock::make(memory, bytes));
  ASSERT_TRUE(memory->copy_in(block.data(), u.data(), bytes, nullptr).ok());
  ASSERT_TRUE(run->bind_there(0, block.data(), bytes).ok());
  ASSERT_TRUE(run->bind(1, std::span(x)).ok() && run->bind(2, std::span(i)).ok());
  for (const bool fails : {true, false}) {
    if (!fails) i[1] = 1;
    EXPECT_EQ(run->run().ok(), !fails);
    ASSERT_TRUE(memory->copy_out(u.data(), block.data(), bytes, nullptr).ok());
    EXPECT_EQ(u[77], fails ? 7.0f : 64.0f);
  }
}

TEST(DeviceOperands, updates_leave_the_memory_between_elements_alone) {
  FakeDevice device;
  auto run = instance(compiled(R"(graph @main(%b: buffer f32[3,2]{4,2}) {
    %n = add(%b; other=1.0)
    return %n -> %b
  })",
                               device.backend));
  std::vector<float> b(11);
  for (size_t k = 0; k < b.size(); ++k) b[k] = static_cast<float>(k);
  ASSERT_TRUE(run->bind(0, std::span(b)).ok());
  ASSERT_TRUE(run->run().ok());
  EXPECT_EQ(b, (std::vector<float>{1, 1, 3, 3, 5, 5, 7, 7, 9, 9, 11}));
  const auto* data = static_cast<float*>(const_cast<void*>(run->result(0)));
  EXPECT_EQ(data, b.data());
}

TEST(DeviceOperands, placeholders_may_be_swapped) {
  FakeDevice device;
  auto run = instance(compiled(R"(graph @main(%a: buffer f32[7], %b: buffer f32[7]) {
    return %a -> %b, %b -> %a
  })",
                               device.backend));
  std::vector<float> a(7, 1.0f), b(7, 2.0f);
  ASSERT_TRUE(run->bind(0, std::span(a)).ok() && run->bind(1, std::span(b)).ok());
  ASSERT_TRUE(run->run().ok());
  EXPECT_EQ(a[6], 2.0f);
  EXPECT_EQ(b[6], 1.0f);
  EXPECT_EQ(device.wrong(), "");
}

// The host's memory may be read-only.
TEST(DeviceOperands, an_input_that_is_returned_is_only_read) {
  FakeDevice device;
  auto run = instance(compiled(R"(graph @main(%x: input f32[500]) {
    return %x
  })",
                               device.backend));
  std::vector<float> x(500, 3.0f);
  ASSERT_TRUE(run->bind(0, std::span(x)).ok());
  ASSERT_TRUE(run->run().ok());
  EXPECT_EQ(device.copies().out, 0);
  EXPECT_EQ(static_cast<const float*>(run->result(0))[499], 3.0f);
}

TEST(DeviceOperands, jumps_read_flags_there) {
  FakeDevice device;
  auto run = instance(compiled(loop_text, device.backend));
  int64_t k = 2;
  std::vector<float> x(3, 1.0f);
  ASSERT_TRUE(run->bind(0, std::span(&k, 1)).ok() && run->bind(1, std::span(x)).ok());
  ASSERT_TRUE(run->run().ok());
  EXPECT_EQ(*static_cast<const int64_t*>(run->result(0)), 5);
  EXPECT_EQ(static_cast<const float*>(run->result(1))[2], 8.0f);
  EXPECT_EQ(device.wrong(), "");
}

constexpr const char* norm_text =
    R"(graph @main(%x: input f32[64,257], %w: input f32[257], %m: input f32[257,33]) {
  %y, %mean, %rstd = native_layer_norm(%x, %w; normalized_shape=[257], eps=1e-05)
  %p = mm(%y, %m)
  %s = _softmax(%p; dim=-1, half_to_float=false)
  %c = sum(%s; dim=[0])
  return %s, %c
})";

struct Norm {
  std::vector<float> x = wave(64 * 257, 0.37f), w = wave(257, 1.3f), m = wave(257 * 33, 0.11f);
  static std::vector<float> wave(size_t n, float step) {
    std::vector<float> out(n);
    for (size_t i = 0; i < n; ++i) out[i] = std::sin(step * static_cast<float>(i));
    return out;
  }
  Status bind(Instance& run) {
    CLEAVE_CHECK(run.bind(0, std::span(x)));
    CLEAVE_CHECK(run.bind(1, std::span(w)));
    return run.bind(2, std::span(m));
  }
};

std::vector<std::byte> results_of(const CompiledProgram& p, Instance& run) {
  std::vector<std::byte> out;
  for (size_t k = 0; k < p.graph().returns().size(); ++k) {
    const auto* data = static_cast<const std::byte*>(run.result(k));
    out.insert(out.end(), data, data + memory_bytes(returned_type(p.graph(), k)));
  }
  return out;
}

TEST(DeviceOperands, instances_run_at_a_time_with_the_cpus_bits) {
  Norm data;
  const auto here = compiled(norm_text);
  auto cpu = instance(here);
  ASSERT_TRUE(data.bind(*cpu).ok() && cpu->run().ok());
  const auto want = results_of(*here, *cpu);
  FakeDevice device;
  const auto p = compiled(norm_text, device.backend);
  std::vector<std::unique_ptr<Instance>> runs;
  for (int k = 0; k < 2; ++k) runs.push_back(instance(p));
  std::vector<int> wrong(2);
  std::vector<std::thread> threads;
  for (int k = 0; k < 2; ++k)
    threads.emplace_back([&, k] {
      if (!data.bind(*runs[k]).ok()) wrong[k] = 1000;
      for (int i = 0; i < 20; ++i)
        wrong[k] += !runs[k]->run().ok() || results_of(*p, *runs[k]) != want;
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, (std::vector<int>{0, 0}));
  EXPECT_EQ(device.wrong(), "");
  const int64_t all = device.used_bytes();
  runs.clear();
  EXPECT_LT(device.used_bytes(), all);
  EXPECT_EQ(device.used_bytes(), 0);
}

TEST(DeviceOperands, each_step_is_timed_with_its_work) {
  FakeDevice device;
  Norm data;
  const auto p = compiled(norm_text, device.backend);
  auto run = instance(p);
  run->profile_kernels(true);
  ASSERT_TRUE(data.bind(*run).ok() && run->run().ok());
  for (const StepTime& s : run->step_times()) EXPECT_GT(s.ns, 0) << s.name;
}

TEST(DeviceOperands, memory_is_released_when_the_device_has_it) {
  FakeDevice device;
  Norm data;
  const auto p = compiled(norm_text, device.backend);
  auto run = instance(p);
  ASSERT_TRUE(data.bind(*run).ok());
  std::set<size_t> asked;
  const Instance::Release release = [&](size_t k) {
    asked.insert(k);
    std::vector<float>& gone = k == 0 ? data.x : k == 1 ? data.w : data.m;
    gone.assign(gone.size(), NAN);
    return true;
  };
  ASSERT_TRUE(run->run(&release).ok());
  EXPECT_EQ(asked, (std::set<size_t>{0, 1, 2}));
  EXPECT_FALSE(std::isnan(static_cast<const float*>(run->result(1))[0]));
  EXPECT_NE(run->run().failure().message.find("is not bound"), std::string::npos);
}

TEST(DeviceOperands, a_program_from_a_cache_runs_there) {
  FakeDevice device;
  StageOptions options;
  options.executor = make_thread_pool(1);
  options.cache = Cache::memory();
  for (const char* cached : {"miss", "hit"}) {
    options.backend = device.other_backend();
    const auto p = value_or_throw(CompiledProgram::compile(parsed(step_text), core(), options));
    EXPECT_EQ(p->report().cache, cached);
    Step s(p);
    ASSERT_TRUE(s.run->run().ok());
    EXPECT_EQ(s.w[0], 1.0f - 2.5f);
    s.i[4] = 300;
    EXPECT_NE(s.run->run().failure().message.find("%i[4]"), std::string::npos);
  }
  EXPECT_EQ(device.wrong(), "");
}

TEST(DeviceOperands, too_little_memory_is_an_error_that_says_how_much) {
  FakeDevice device(64 << 10);
  const auto p = compiled("graph @main(%x: input f32[100000]) {\n  %y = exp(%x)\n  return %y\n}\n",
                          device.backend);
  const auto made = Instance::make(p, make_thread_pool(1));
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.failure().kind, ErrorKind::user);
  EXPECT_EQ(made.failure().message,
            "cuda:0: 65536 B of 65536 are free; the arena needs 400128 (the planned peak is "
            "800128, which a memory_budget lowers)");
}

}  // namespace
}  // namespace cleave
