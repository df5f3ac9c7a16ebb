// Instances of a compiled function, and what programs of a process share.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "cleave/cleave.h"
#include "test/thread_count.h"
#include "test/trace/traced.h"

namespace cleave {
namespace {

using test::message;
using test::thread_count;
using test::thread_count_near;

struct ServedNet {
  Generator rng{5};
  nn::Sequential model{nn::Linear(32, 64, rng), nn::GELU(), nn::Linear(64, 32, rng),
                       nn::LayerNorm({32}), nn::Linear(32, 4, rng)};
  CompiledFunction compiled(const CompileOptions& options = {}) const {
    return compile(
        model, [m = model](const Tensor& x) { return softmax(m(x), 1); },
        {{"x", DType::f32, {16, 32}}}, options);
  }
};

TEST(CompiledFunction, an_instance_has_results_of_its_own) {
  ServedNet net;
  CompiledFunction f = net.compiled();
  CompiledFunction g = f.instance();
  const HostTensor x = net.rng.normal({16, 32}), y = net.rng.normal({16, 32});
  const HostTensor of_x = f.run({x})[0];
  g.run_in_place(std::vector<InputRef>{y});
  EXPECT_TRUE(f.output(0).same_bits(of_x));
  const HostTensor of_y = g.output(0);
  EXPECT_FALSE(of_y.same_bits(of_x));
  EXPECT_TRUE(f.run({y})[0].same_bits(of_y));
  EXPECT_EQ(f.graph_text(), g.graph_text());
  EXPECT_EQ(f.report().planned_peak_bytes, g.report().planned_peak_bytes);
  EXPECT_EQ(f.report().compile_ms, g.report().compile_ms);
}

TEST(CompiledFunction, an_instance_outlives_the_function_and_reads_its_variables) {
  ServedNet net;
  CompiledFunction g;
  {
    CompiledFunction f = net.compiled();
    g = f.instance();
  }
  const HostTensor x = net.rng.normal({16, 32});
  const HostTensor before = g.run({x})[0];
  Variable w = net.model.parameter("4.weight");
  w.set(net.rng.normal(w.shape()));
  EXPECT_FALSE(g.run({x})[0].same_bits(before));
  EXPECT_TRUE(g.run({x})[0].same_bits(net.compiled().run({x})[0]));
}

TEST(CompiledFunction, counts_variables_that_have_moved) {
  const Variable v("v", HostTensor::scalar(2.0), VariableKind::buffer);
  CompiledFunction f = compile([&](const Tensor& x) { return x * v; }, {{"x", DType::f32, {2}}});
  const HostTensor x = HostTensor::from<float>({1, 2});
  f.run({x});
  f.run({x});
  EXPECT_EQ(f.report().count("rebinds"), 0);
  Variable(v).bind(HostTensor::scalar(3.0), Contents::of_memory);
  EXPECT_EQ(f.run({x})[0].at<float>({1}), 6);
  EXPECT_EQ(f.report().count("rebinds"), 1);
  EXPECT_EQ(f.instance().report().count("rebinds"), 0);
}

TEST(CompiledFunction, instances_count_their_own_copied_inputs) {
  CompiledFunction f = compile([](const Tensor& x) { return x * 2.0; }, {{"x", DType::f32, {4}}});
  f.run({HostTensor(DType::f32, {4})});
  f.run_in_place(std::vector<InputRef>{f.output_view(0)});
  EXPECT_EQ(f.report().count("copies"), 1);
  EXPECT_EQ(f.instance().report().count("copies"), 0);
}

TEST(CompiledFunction, an_instance_of_an_empty_function_is_an_error) {
  EXPECT_EQ(message([] { CompiledFunction().instance(); }),
            "CompiledFunction: it is empty; compile() makes one");
}

// Twenty threads, each with its instance, at the same time.
TEST(CompiledFunction, instances_run_at_the_same_time_with_the_same_bits) {
  ServedNet net;
  CompiledFunction f = net.compiled();
  std::vector<HostTensor> inputs, wants;
  for (int i = 0; i < 20; ++i) {
    inputs.push_back(net.rng.normal({16, 32}));
    wants.push_back(f.run({inputs.back()})[0]);
  }
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < inputs.size(); ++i)
      threads.emplace_back([&, i] {
        CompiledFunction mine = f.instance();
        for (int k = 0; k < 50; ++k) wrong += !mine.run({inputs[i]})[0].same_bits(wants[i]);
      });
    for (int k = 0; k < 50; ++k) wrong += !f.run({inputs[0]})[0].same_bits(wants[0]);
  }
  EXPECT_EQ(wrong, 0);
}

TEST(CompiledFunction, instances_share_the_programs_for_sizes) {
  std::atomic<int> calls = 0;
  CompiledFunction f = compile(
      [&](const Tensor& x) {
        ++calls;
        return x * 2.0;
      },
      {{"x", DType::f32, {dyn("N", 1, 16)}}});
  const int before = calls;
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        CompiledFunction mine = f.instance();
        for (int64_t n = 1; n <= 4; ++n)
          wrong += mine.run({HostTensor(DType::f32, {n})})[0].numel() != n;
      });
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(calls - before, 4);
}

// While a running instance waits in its executor, the other one is tried.
struct Waiting : Executor {
  std::function<void()> meanwhile;
  int threads() const override { return 1; }
  void parallel_for(long pieces, void (*f)(void*, long), void* context) override {
    if (const auto once = std::exchange(meanwhile, nullptr)) once();
    for (long i = 0; i < pieces; ++i) f(context, i);
  }
};

TEST(CompiledFunction, of_those_that_assign_variables_one_runs_at_a_time) {
  const auto threads = std::make_shared<Waiting>();
  constexpr int64_t size = 1 << 18;  // more than one piece
  for (const bool assigns : {false, true}) {
    Variable count("count", HostTensor(DType::f32, {size}), VariableKind::buffer);
    CompiledFunction f = compile(
        [&](const Tensor& x) {
          const Tensor next = Tensor(count) + x;
          if (assigns) assign(count, next);
          return next;
        },
        {{"x", DType::f32, {size}}}, {.executor = threads});
    CompiledFunction g = f.instance();
    const HostTensor one = HostTensor::from(std::vector<float>(size, 1.0f));
    std::string other;
    threads->meanwhile = [&] { other = message([&] { g.run({one}); }); };
    f.run({one});
    ASSERT_EQ(threads->meanwhile, nullptr) << "no piece was given to the executor";
    EXPECT_EQ(other, assigns ? "compile: it assigns Variables, and another instance is running on "
                               "another thread"
                             : "no error");
    g.run({one});
    EXPECT_EQ(count.value().number(0), assigns ? 2 : 0);
  }
}

TEST(CompiledFunction, forty_programs_share_one_pool) {
  const int before = thread_count();
  {
    ServedNet net;
    std::vector<CompiledFunction> all;
    for (int i = 0; i < 40; ++i) all.push_back(net.compiled({.threads = 4}));
    EXPECT_EQ(thread_count_near(before + 3), before + 3);
    all.resize(1);
    all.push_back(net.compiled({.executor = make_thread_pool(2)}));
    EXPECT_EQ(thread_count_near(before + 4), before + 4);
  }
  EXPECT_EQ(thread_count_near(before), before);
}

TEST(CompiledFunction, results_have_the_same_bits_on_any_number_of_shared_threads) {
  ServedNet net;
  const HostTensor x = net.rng.normal({16, 32});
  const HostTensor want = net.compiled({.threads = 1}).run({x})[0];
  for (const int threads : {0, 2, 5})
    EXPECT_TRUE(net.compiled({.threads = threads}).run({x})[0].same_bits(want)) << threads;
}

// The child has none of the parent's threads: its programs run on the thread that calls them.
TEST(CompiledFunction, runs_in_the_child_of_a_fork) {
  ServedNet net;
  CompiledFunction f = net.compiled({.threads = 3});
  const HostTensor x = net.rng.normal({16, 32});
  const HostTensor want = f.run({x})[0];
  const pid_t child = fork();
  if (child == 0) {
    int wrong = f.run({x})[0].same_bits(want) ? 0 : 1;
    wrong |= f.instance().run({x})[0].same_bits(want) ? 0 : 2;
    f = CompiledFunction();  // joins no thread
    _exit(wrong);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(f.run({x})[0].same_bits(want));
}

}  // namespace
}  // namespace cleave
