// Functions whose inputs have sizes that vary: the numbers of a program for each size alone.
// tests: bound_program.cpp
#include "exec/sized_programs.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "cleave/cleave.h"
#include "runtime/alloc_watch.h"
#include "test/thread_count.h"
#include "test/trace/traced.h"

namespace cleave {
namespace {

using test::message;

struct SizedNet {
  Generator rng{3};
  nn::Sequential model{nn::Linear(5, 16, rng), nn::Tanh(), nn::Linear(16, 3, rng)};
  int calls = 0;  // of the function

  CompiledFunction compiled(InputDim rows, const CompileOptions& options = {}) {
    return compile(
        model,
        [this](const Tensor& x) {
          ++calls;
          return Tensors{model(x), sum(x)};
        },
        {{"x", DType::f32, {rows, 5}}}, options);
  }
};

TEST(SizedPrograms, have_the_bits_of_a_program_for_that_size) {
  SizedNet net;
  CompiledFunction varying = net.compiled(dyn("B", 1, 40));
  for (const int64_t rows : {1, 7, 40, 16, 7, 2, 1}) {
    const HostTensor x = net.rng.normal({rows, 5});
    const HostTensors want = net.compiled(rows).run({x}), got = varying.run({x});
    EXPECT_EQ(got[0].shape(), (std::vector<int64_t>{rows, 3}));
    EXPECT_TRUE(got[0].same_bits(want[0])) << rows;
    EXPECT_TRUE(got[1].same_bits(want[1])) << rows;
    EXPECT_TRUE(varying.output(0).same_bits(want[0]));
    EXPECT_TRUE(varying.run({{"x", x}})[0].same_bits(want[0]));
  }
}

TEST(SizedPrograms, are_made_once_for_each_size) {
  SizedNet net;
  CompiledFunction f = net.compiled(dyn("B", 1, 40));
  const int before =
      net.calls;  // for the largest size, and for those that kernels are learned from
  EXPECT_GT(before, 1);
  for (const int64_t rows : {40, 3, 40, 3, 4, 3}) f.run({net.rng.normal({rows, 5})});
  EXPECT_EQ(net.calls - before, 2);
  EXPECT_EQ(f.report().count("sizes"), 2);
}

// 5 layers of kernels, each with the numbers of its rows.
TEST(SizedPrograms, nothing_is_compiled_at_a_new_size) {
  SizedNet net;
  CompiledFunction f = net.compiled(dyn("B", 1, 400));
  for (const int64_t rows : {399, 5, 17, 64, 100, 256, 3, 1}) {
    f.run({net.rng.normal({rows, 5})});
    EXPECT_EQ(f.report().recompiled, "") << rows;
  }
  EXPECT_EQ(f.report().count("sizes"), 8);
  EXPECT_EQ(f.report().count("recompiles"), 0);
}

// What no size before has shown.
TEST(SizedPrograms, a_kernel_that_was_not_learned_is_compiled_and_told) {
  const auto f = [](const Tensor& x) { return x.numel() == 101 ? sin(x) * 3.0 : x * 2.0; };
  CompiledFunction varying =
      compile(f, {{"x", DType::f32, {dyn("N", 1, 300)}}}, {.compiler = CompilerChoice::automatic});
  Generator rng(5);
  for (const int64_t n : {7, 101, 8, 101}) {
    const HostTensor x = rng.normal({n});
    EXPECT_TRUE(varying.run({x})[0].same_bits(compile(f, {{"x", DType::f32, {n}}}).run({x})[0]));
    EXPECT_EQ(varying.report().recompiled.empty(), n != 101) << varying.report().recompiled;
  }
  varying.run({rng.normal({101})});
  EXPECT_EQ(varying.report().recompiled, "N=101: kernel %mul: no function has its loops");
  EXPECT_EQ(varying.report().count("recompiles"), 1);
}

TEST(SizedPrograms, a_hint_is_made_at_once) {
  SizedNet net;
  CompiledFunction f = net.compiled(dyn("B", 1, 40, 7));
  const int before = net.calls;
  f.run({net.rng.normal({7, 5})});
  EXPECT_EQ(net.calls, before);
  const std::string text = message([&] { net.compiled(dyn("B", 2, 40, 1)); });
  EXPECT_TRUE(text.ends_with("dim 0: the hint of B is 1, expected 2 to 40")) << text;
}

TEST(SizedPrograms, numbers_grow_where_that_is_asked) {
  SizedNet net;
  CompiledFunction fixed = net.compiled(8);
  EXPECT_EQ(message([&] { fixed.run({net.rng.normal({9, 5})}); }),
            "compile: input 0 `x`: got f32[9,5] on cpu, expected f32[8,5] on cpu");
  CompiledFunction f = net.compiled(8, {.other_sizes = OtherSizes::grow});
  for (const int64_t rows : {8, 9, 3, 100, 8, 64}) {
    const HostTensor x = net.rng.normal({rows, 5});
    EXPECT_TRUE(f.run({x})[0].same_bits(net.compiled(rows).run({x})[0])) << rows;
  }
  const int64_t before = f.report().count("recompiles");
  EXPECT_LE(before, 4);
  for (const int64_t rows : {10, 99, 4}) f.run({net.rng.normal({rows, 5})});  // like the ones above
  EXPECT_EQ(f.report().count("sizes"), 7);
  EXPECT_EQ(f.report().count("recompiles"), before);
  const std::string text = message([&] { f.run({net.rng.normal({8, 6})}); });
  EXPECT_TRUE(text.ends_with("\n  in the program for x.1=6")) << text;
  EXPECT_EQ(message([&] { f.run({net.rng.normal({8, 5, 1})}); }),
            "compile: input 0 `x`: got f32[8,5,1] on cpu, expected f32[8,5] on cpu");
}

TEST(SizedPrograms, the_one_not_used_for_the_longest_time_is_dropped) {
  SizedNet net;
  CompiledFunction f = net.compiled(dyn("B", 1, 40), {.kept_sizes = 2});
  const auto calls_of = [&](int64_t rows) {
    const int before = net.calls;
    f.run({net.rng.normal({rows, 5})});
    return net.calls - before;
  };
  for (int round = 0; round < 2; ++round)
    for (const int64_t rows : {3, 4, 5}) EXPECT_EQ(calls_of(rows), 1);
  for (const int64_t rows : {4, 5, 40, 4, 40, 40, 5}) EXPECT_EQ(calls_of(rows), 0);
}

TEST(SizedPrograms, what_is_told_is_of_the_last_program) {
  SizedNet net;
  CompiledFunction f = net.compiled(dyn("B", 1, 40));
  EXPECT_NE(f.graph_text().find("f32[40,5]"), std::string::npos) << f.graph_text();
  const int64_t largest = f.report().planned_peak_bytes;
  EXPECT_EQ(largest, net.compiled(40).report().planned_peak_bytes);
  f.run({net.rng.normal({2, 5})});
  EXPECT_NE(f.graph_text().find("f32[2,5]"), std::string::npos) << f.graph_text();
  EXPECT_EQ(f.report().planned_peak_bytes, net.compiled(2).report().planned_peak_bytes);
  EXPECT_LT(f.report().planned_peak_bytes, largest);
}

// All sizes share the arena: what was run before lies in memory that the next run writes.
TEST(SizedPrograms, a_result_of_another_size_may_be_given_back) {
  const auto f = [](const Tensor& x) { return cat({x * 2.0, x + 1.0}, 0); };
  CompiledFunction varying = compile(f, {{"x", DType::f32, {dyn("N", 1, 32)}}});
  HostTensor x = HostTensor::from<float>({1});
  varying.run_in_place(std::vector<InputRef>{x});
  for (int64_t n = 2; n <= 32; n *= 2) {
    x = compile(f, {{"x", DType::f32, {n / 2}}}).run({x})[0];
    EXPECT_TRUE(varying.output_view(0).same_bits(x)) << n;
    varying.run_in_place(std::vector<InputRef>{varying.output_view(0)});
    EXPECT_EQ(varying.report().count("copies"), 1) << n;
  }
}

TEST(SizedPrograms, share_the_arena_of_the_largest) {
  SizedNet net;
  CompiledFunction f = net.compiled(dyn("B", 1, 40));
  const int64_t arena_bytes = f.report().arena_bytes;
  std::vector<const std::byte*> at;
  for (const int64_t rows : {40, 1, 7, 39}) {
    f.run_in_place(std::vector<InputRef>{net.rng.normal({rows, 5})});
    at.push_back(static_cast<const std::byte*>(f.output_view(0).data()));
    EXPECT_LT(std::abs(at.back() - at.front()), arena_bytes) << rows;
  }
}

TEST(SizedPrograms, a_view_outlives_its_program_and_that_it_is_dropped) {
  HostTensor view, copy;
  {
    CompiledFunction f = compile([](const Tensor& x) { return x * 2.0; },
                                 {{"x", DType::f32, {dyn("N", 1, 9)}}}, {.kept_sizes = 1});
    f.run({HostTensor::from<float>({1, 2})});
    f.run({HostTensor::from<float>({1, 2, 3})});
    view = f.output_view(0);
    copy = f.output(0);
  }
  EXPECT_TRUE(view.same_bits(copy));
}

TEST(SizedPrograms, a_failed_trace_names_the_sizes_and_changes_nothing) {
  CompiledFunction f = compile([](const Tensor& x) { return reshape(x, {2, x.numel() / 2}); },
                               {{"x", DType::f32, {dyn("N", 1, 32)}}});
  EXPECT_EQ(f.run({HostTensor(DType::f32, {6})})[0].shape(), (std::vector<int64_t>{2, 3}));
  const std::string text = message([&] { f.run({HostTensor(DType::f32, {7})}); });
  EXPECT_NE(text.find("sized_programs_test.cpp:"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("\n  in the program for N=7")) << text;
  EXPECT_EQ(message([&] { f.output(0); }),
            "compile: it has no outputs: it did not run yet, or the last run failed");
  EXPECT_EQ(f.run({HostTensor(DType::f32, {8})})[0].shape(), (std::vector<int64_t>{2, 4}));
  EXPECT_TRUE(message([] {
                compile([](const Tensor& x) { return reshape(x, {2, 4}); },
                        {{"x", DType::f32, {dyn("N", 1, 9)}}});
              }).ends_with("\n  in the program for N=9"));
}

TEST(SizedPrograms, another_number_of_results_is_refused) {
  CompiledFunction f = compile(
      [](const Tensor& x) { return x.numel() == 3 ? Tensors{x * 2.0, x} : Tensors{x * 2.0}; },
      {{"x", DType::f32, {dyn("N", 1, 9)}}});
  EXPECT_EQ(message([&] { f.run({HostTensor(DType::f32, {3})}); }),
            "compile: the function returns 2 results, expected 1, as for N=9\n"
            "  in the program for N=3");
}

TEST(SizedPrograms, specs_are_checked_at_the_call) {
  const auto text = [](const std::vector<InputSpec>& specs, const CompileOptions& options = {}) {
    const std::string all =
        message([&] { compile([](const Tensor& x) { return x * 2.0; }, specs, options); });
    return all.substr(all.find(": ") + 2);
  };
  EXPECT_EQ(text({{"x", DType::f32, {-1}}}),
            "compile: input `x`: dim 0 is negative: f32[-1]; sizes are static; give one that "
            "varies by name and bounds, as dyn(\"B\", 1, 64)");
  EXPECT_EQ(text({{"x", DType::f32, {1}}}, {.kept_sizes = 0}),
            "compile: kept_sizes is 0, expected 1 or more");
}

TEST(SizedPrograms, each_size_is_dumped_in_a_folder_of_its_own) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("cleave_sized_dump." + std::to_string(getpid()));
  CompiledFunction f = compile([](const Tensor& x) { return x * 2.0; },
                               {{"x", DType::f32, {dyn("N", 1, 9)}}}, {.dump_dir = folder});
  f.run({HostTensor(DType::f32, {3})});
  EXPECT_TRUE(std::filesystem::exists(folder / "N=9"));
  EXPECT_TRUE(std::filesystem::exists(folder / "N=3"));
  std::filesystem::remove_all(folder);
}

TEST(SizedPrograms, runs_of_sizes_seen_before_allocate_nothing) {
  if (!runtime::AllocWatch::available()) GTEST_SKIP() << "malloc is not interposed";
  SizedNet net;
  CompiledFunction f = net.compiled(dyn("B", 1, 40));
  std::vector<std::vector<InputRef>> inputs;
  for (const int64_t rows : {3, 40, 4}) inputs.push_back({net.rng.normal({rows, 5})});
  for (const auto& in : inputs) f.run_in_place(in);
  runtime::AllocWatch watch;
  watch.start();
  for (int round = 0; round < 3; ++round)
    for (const auto& in : inputs) f.run_in_place(in);
  EXPECT_EQ(watch.stop().allocations, 0);
}

TEST(SizedPrograms, programs_share_the_threads) {
  const int before = test::thread_count();
  {
    SizedNet net;
    CompiledFunction f = net.compiled(dyn("B", 1, 40), {.threads = 3});
    for (const int64_t rows : {1, 2, 3, 4, 5}) f.run({net.rng.normal({rows, 5})});
    EXPECT_EQ(test::thread_count_near(before + 2), before + 2);
  }
  EXPECT_EQ(test::thread_count_near(before), before);
}

}  // namespace
}  // namespace cleave
