// Runs of a program on a GPU, by a driver and a compiler without one: what the driver is asked for.
// tests: cuda_arena.cpp stream_graph.cpp exec/device_runs.cpp
#include <gtest/gtest.h>

#include "backend/cuda/cuda_backend.h"
#include "base/target.h"
#include "exec/executable.h"
#include "test/backend/fake/fake_driver.h"
#include "test/random_inputs.h"

namespace cleave::cuda {
namespace {

using cleave::test::core;
using cleave::test::parsed;
using test::FakeLaunch;
using test::FakeState;

constexpr int64_t count = 64;

// y = x + 1 and its last element, as the kernels of this program are called: with their operands.
struct Program {
  FakeState fake;
  std::vector<float> x = std::vector<float>(count);
  std::unique_ptr<Instance> run;

  Program() {
    StageOptions options;
    options.executor = make_thread_pool(1);
    options.backend = std::make_shared<CudaBackend>(
        Target::named("sm_90"), 0,
        CudaParts{.device = [](int index) { return CudaDevice::open(test::fake_driver(), index); },
                  .compiler =
                      [] {
                        return Nvrtc::open({.asks_system = false, .folders = {CLEAVE_FAKE_NVRTC}});
                      }});
    const auto program = value_or_throw(CompiledProgram::compile(
        parsed("graph @main(%x: input f32[64]) {\n  %y = add(%x; other=1.0)\n  return %y\n}\n"),
        core(), options));
    run = value_or_throw(Instance::make(program, options.executor));
    EXPECT_TRUE(run->bind(0, std::span(x)).ok());
    // Which kernel it is shows when it runs first.
    EXPECT_TRUE(run->run().ok());
    EXPECT_EQ(fake->launches.size(), 1u);
    fake->kernels[fake->launches.at(0).function] = [](const FakeLaunch& l) {
      const auto* from = reinterpret_cast<const float*>(l.arguments[0]);
      auto* to = reinterpret_cast<float*>(l.arguments[1]);
      for (int64_t i = 0; i < count; ++i) to[i] = from[i] + 1;
    };
  }
  void draw(int k) { x.assign(count, static_cast<float>(k)); }
};

struct Last final : StartedRun {
  explicit Last(const Instance& run) : run(run) {}
  void ended(const Status& status) override {
    is_ok = status.ok();
    last = static_cast<const float*>(run.ended_result(0))[count - 1];
  }
  const Instance& run;
  bool is_ok = false;
  float last = 0;
};

TEST(CudaRuns, are_one_launch_of_a_graph) {
  Program p;
  for (int k = 2; k <= 5; ++k) {
    p.draw(k);
    ASSERT_TRUE(p.run->run().ok());
    EXPECT_EQ(static_cast<const float*>(p.run->result(0))[count - 1], static_cast<float>(k + 1));
    EXPECT_EQ(p.fake->graph_launches, k - 1);
    EXPECT_EQ(p.fake->launches.size(), static_cast<size_t>(k));  // once each, noted or not
  }
  EXPECT_EQ(p.run->graph_counts().recorded, 1);
  EXPECT_EQ(p.run->graph_counts().launched, 4);
  EXPECT_EQ(p.fake->joins, 0);
}

TEST(CudaRuns, follow_each_other_with_copies_beside_them) {
  Program p;
  const int streams = p.fake->streams, waits = p.fake->waits;
  std::vector<std::shared_ptr<Last>> runs;
  for (int k = 0; k < 8; ++k) {
    p.draw(k);
    runs.push_back(std::make_shared<Last>(*p.run));
    ASSERT_TRUE(p.run->start(runs.back()).ok());
  }
  ASSERT_TRUE(p.run->settle().ok());
  for (int k = 0; k < 8; ++k) {
    EXPECT_TRUE(runs[static_cast<size_t>(k)]->is_ok);
    EXPECT_EQ(runs[static_cast<size_t>(k)]->last, static_cast<float>(k + 1));
  }
  EXPECT_EQ(p.fake->streams, streams + 1);
  EXPECT_EQ(p.fake->joins, 7);
  EXPECT_EQ(p.fake->waits, waits);  // for marks alone
  EXPECT_EQ(p.run->graph_counts().recorded, 2);
  EXPECT_EQ(p.run->graph_counts().launched, 7);
  EXPECT_EQ(p.fake->graph_launches, 7);
}

TEST(CudaRuns, go_on_call_by_call_where_the_driver_makes_no_graph) {
  Program p;
  p.fake->failures["cuGraphInstantiateWithFlags"] = 801;
  for (int k = 0; k < 3; ++k) {
    p.draw(k);
    ASSERT_TRUE(p.run->run().ok());
    EXPECT_EQ(static_cast<const float*>(p.run->result(0))[0], static_cast<float>(k + 1));
  }
  EXPECT_EQ(p.fake->graph_launches, 0);
  EXPECT_EQ(p.run->graph_counts().skipped, 3);
  EXPECT_EQ(p.run->graph_counts().reason,
            "incompatible op: cuda: the calls of a run don't become a graph: what the test asked "
            "for (CUDA_ERROR_OF_THE_TEST)");
}

}  // namespace
}  // namespace cleave::cuda
