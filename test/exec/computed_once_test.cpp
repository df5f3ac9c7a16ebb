// Tables that depend on no placeholder: bits, memory, caches, budgets, sizes that vary.
// tests: executable.cpp
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <thread>

#include "cleave/cleave.h"
#include "compile/stages.h"
#include "exec/executable.h"
#include "ir/strides.h"
#include "test/random_inputs.h"
#include "test/sample/fake_device.h"
#include "test/sample/run_program.h"

namespace cleave {
namespace {

using test::core;
using test::parsed;

// Two layers turn x by a rotary table each, which both compute; with a gradient for w.
const char* const rotary =
    "graph @main(%x: input f32[4,64,32], %w: param f32[32,32] grad) {\n"
    "  %v = view(%x; size=[256,32])\n"
    "  %a = mm(%v, %w)\n"
    "  %h = view(%a; size=[4,64,32])\n"
    "  %t = arange(; end=64, dtype=f32)\n"
    "  %i = arange(; end=32, dtype=f32)\n"
    "  %f = pow(%i; self=0.7)\n"
    "  %c = unsqueeze(%t; dim=1)\n"
    "  %n = mul(%c, %f)\n"
    "  %cos = cos(%n)\n"
    "  %p = mul(%h, %cos)\n"
    "  %g = gelu(%p)\n"
    "  %m = mul(%c, %f)\n"
    "  %cos2 = cos(%m)\n"
    "  %q = mul(%g, %cos2)\n"
    "  %s = mul(%q, %q)\n"
    "  %l = sum(%s)\n"
    "  return %l\n"
    "}\n";
constexpr int64_t table_bytes = 64 * 32 * 4;

const std::vector<std::string> off = {"compute_once"};

Graph joint_graph() {
  Graph g = parsed(rotary);
  StageOptions options;
  options.grad = true;
  value_or_throw(run_stages(Stage::grad, Stage::grad, g, core(), options));
  return g;
}

law::Memory results_of(const std::shared_ptr<const CompiledProgram>& p, const Graph& g,
                       int threads = 1) {
  Arrays inputs;
  const auto named = test::random_inputs(g, {});
  for (const Placeholder& q : g.placeholders()) inputs.push_back(named.at(g.name(q.value)));
  return value_or_throw(law::run_program(p, inputs, threads));
}

TEST(ComputedOnce, gives_the_same_bits_as_computed_in_each_run) {
  const Graph g = joint_graph();
  StageOptions usual, each;
  each.passes_off = off;
  const auto once = value_or_throw(CompiledProgram::compile(g, core(), usual));
  const auto plain = value_or_throw(CompiledProgram::compile(g, core(), each));
  EXPECT_EQ(once->report().frozen.folded.count, 1);  // the layers' tables are equal
  EXPECT_EQ(once->report().frozen.folded.bytes, table_bytes);
  EXPECT_EQ(plain->report().frozen.folded.count, 0);
  EXPECT_EQ(once->frozen_part(), nullptr);
  EXPECT_EQ(results_of(once, g), results_of(plain, g));
  EXPECT_EQ(results_of(once, g, 3), results_of(plain, g));
}

TEST(ComputedOnce, is_memory_that_the_plan_counts) {
  const Graph g = joint_graph();
  StageOptions usual, each;
  each.passes_off = off;
  const auto once = value_or_throw(CompiledProgram::compile(g, core(), usual));
  const auto plain = value_or_throw(CompiledProgram::compile(g, core(), each));
  EXPECT_EQ(once->report().placeholder_bytes, plain->report().placeholder_bytes + table_bytes);
  EXPECT_EQ(once->constant_bytes(), 0);  // no instance yet
  const auto run = value_or_throw(Instance::make(once, nullptr));
  EXPECT_EQ(once->constant_bytes(), table_bytes);
  std::vector<std::vector<std::byte>> memory;
  for (size_t k = 0; k < g.placeholders().size(); ++k) {
    memory.emplace_back(static_cast<size_t>(memory_bytes(g.type(g.placeholders()[k].value))) + 64);
    value_or_throw(run->bind(k, std::span(memory.back())));
  }
  run->fill_arena_pattern();
  value_or_throw(run->run());
  EXPECT_EQ(run->touched_arena_bytes() + once->report().placeholder_bytes,
            once->report().planned_peak_bytes);
}

// Layers of a product and what is made of it element by element, which a budget recomputes.
Graph layers() {
  std::string text =
      "graph @main(%x: input f32[256,32], %w: param f32[32,32] grad) {\n"
      "  %t = arange(; end=8192, dtype=f32)\n  %s = sin(%t)\n"
      "  %c = view(%s; size=[256,32])\n  %y0 = mm(%x, %w)\n";
  for (int k = 0; k < 4; ++k)
    text += fmt::format(
        "  %a{0} = mul(%y{0}, %c)\n  %b{0} = gelu(%a{0})\n  %m{0} = mm(%b{0}, %w)\n"
        "  %y{1} = tanh(%m{0})\n",
        k, k + 1);
  Graph g = parsed(text + "  %q = mul(%y4, %y4)\n  %l = sum(%q)\n  return %l\n}\n");
  StageOptions options;
  options.grad = true;
  value_or_throw(run_stages(Stage::grad, Stage::grad, g, core(), options));
  return g;
}

TEST(ComputedOnce, budgets_count_it_and_change_no_bit) {
  const Graph g = layers();
  const auto whole = value_or_throw(CompiledProgram::compile(g, core(), {}));
  const int64_t peak = whole->report().planned_peak_bytes;
  StageOptions less;
  less.memory_budget = peak - 64;
  const auto small = value_or_throw(CompiledProgram::compile(g, core(), less));
  EXPECT_LT(small->report().planned_peak_bytes, peak);
  EXPECT_GT(small->report().recompute_ns, 0);
  EXPECT_EQ(small->report().frozen.folded.count, 1);
  EXPECT_EQ(small->report().placeholder_bytes, whole->report().placeholder_bytes);
  EXPECT_EQ(results_of(small, g), results_of(whole, g));
}

TEST(ComputedOnce, by_the_first_of_instances_that_begin_at_once) {
  const Graph g = joint_graph();
  const auto once = value_or_throw(CompiledProgram::compile(g, core(), {}));
  const law::Memory expected =
      results_of(value_or_throw(CompiledProgram::compile(g, core(), {})), g);
  std::vector<law::Memory> got(4);
  std::vector<std::thread> threads;
  for (law::Memory& m : got) threads.emplace_back([&] { m = results_of(once, g); });
  for (std::thread& t : threads) t.join();
  for (const law::Memory& m : got) EXPECT_EQ(m, expected);
}

TEST(ComputedOnce, programs_that_are_kept_compute_it_again) {
  const Graph g = joint_graph();
  const auto folder = std::filesystem::temp_directory_path() / "cleave_computed_once";
  std::filesystem::remove_all(folder);
  StageOptions kept;
  kept.cache_dir = folder;
  const auto built = value_or_throw(CompiledProgram::compile(g, core(), kept));
  const auto found = value_or_throw(CompiledProgram::compile(g, core(), kept));
  EXPECT_EQ(found->report().cache, "hit");
  EXPECT_EQ(found->report().frozen.folded.bytes, table_bytes);
  EXPECT_EQ(results_of(found, g), results_of(built, g));
  std::filesystem::remove_all(folder);
}

HostTensor turned(const HostTensor& x, const InputSpec& spec, Report* report) {
  CompiledFunction f = compile(
      [](const Tensor& t) {
        const Tensor positions = arange(0, t.size(0) * 64).to(DType::f32);
        return t * reshape(sin(positions), {t.size(0), 64});
      },
      {spec});
  const HostTensor y = f.run({x})[0];
  if (report) *report = f.report();
  return y;
}

TEST(ComputedOnce, not_where_sizes_vary) {
  Generator rng(2);
  const HostTensor x = rng.normal({64, 64});
  Report one, varying;
  const HostTensor y = turned(x, {"x", DType::f32, {64, 64}}, &one);
  EXPECT_EQ(one.frozen.folded.count, 1);
  EXPECT_TRUE(turned(x, {"x", DType::f32, {dyn("n", 1, 128), 64}}, &varying).same_bits(y));
  EXPECT_EQ(varying.frozen.folded.count, 0);
}

const char* const turned_text =
    "graph @main(%x: input f32[4096]) {\n  %i = arange(; end=4096, dtype=f32)\n  %s = sin(%i)\n"
    "  %y = mul(%x, %s)\n  return %y\n}\n";

TEST(ComputedOnce, who_frees_operands_behind_their_last_reader_is_not_asked_for_it) {
  const auto p = value_or_throw(CompiledProgram::compile(parsed(turned_text), core(), {}));
  const auto run = value_or_throw(Instance::make(p, nullptr));
  std::vector<float> x(4096, 2.0f);
  for (int k = 0; k < 2; ++k) {
    std::vector<size_t> asked;
    value_or_throw(run->bind(0, std::span(x)));
    const Instance::Release release = [&](size_t placeholder) {
      asked.push_back(placeholder);
      return true;
    };
    value_or_throw(run->run(&release));
    EXPECT_EQ(asked, std::vector<size_t>{0});
    EXPECT_NEAR(static_cast<const float*>(run->result(0))[1], 2 * std::sin(1.0), 1e-6);
  }
}

TEST(ComputedOnce, a_device_is_given_it_once) {
  test::FakeDevice device;
  StageOptions options;
  options.backend = device.backend;
  const auto p = value_or_throw(CompiledProgram::compile(parsed(turned_text), core(), options));
  const auto run = value_or_throw(Instance::make(p, nullptr));
  device.copies();
  std::vector<float> x(4096, 2.0f);
  value_or_throw(run->bind(0, std::span(x)));
  for (const int64_t in : {2 * 16384, 16384, 16384}) {
    value_or_throw(run->run());
    EXPECT_EQ(device.copies().in_bytes, in);
    EXPECT_NEAR(static_cast<const float*>(run->result(0))[1], 2 * std::sin(1.0), 1e-6);
  }
  EXPECT_EQ(device.wrong(), "");
}

}  // namespace
}  // namespace cleave
