// A program with branches and loops doesn't allocate while it runs.
#include <gtest/gtest.h>

#include "exec/executable.h"
#include "runtime/alloc_watch.h"
#include "test/random_inputs.h"

namespace cleave {
namespace {

TEST(ControlFlow, a_step_allocates_nothing) {
  if (!runtime::AllocWatch::available()) GTEST_SKIP() << "no allocations are seen here";
  const Graph g = test::parsed(
      "graph @up(%x: input f32[64,64]) {\n  %y = mm(%x, %x)\n  %z = tanh(%y)\n  return %z\n}\n"
      "graph @down(%x: input f32[64,64]) {\n  %y = mul(%x; other=0.5)\n  return %y\n}\n"
      "graph @few(%n: input i64[], %x: input f32[64,64]) {\n  %p = lt(%n; other=9)\n"
      "  return %p\n}\n"
      "graph @next(%n: input i64[], %x: input f32[64,64]) {\n  %r = remainder(%n; other=2)\n"
      "  %p = eq(%r; other=0)\n  %y = cond(%p, [%x]; then=@up, otherwise=@down)\n"
      "  %m = add(%n; other=1)\n  return %m, %y\n}\n"
      "graph @main(%n: input i64[], %x: input f32[64,64]) {\n"
      "  %m, %y = while_loop([%n, %x]; condition=@few, body=@next)\n  return %m, %y\n}\n");
  StageOptions options;
  options.executor = make_thread_pool(2);
  const auto program = value_or_throw(CompiledProgram::compile(g, test::core(), options));
  const auto run = value_or_throw(Instance::make(program, options.executor));
  std::vector<float> x(64 * 64, 0.01f);
  int64_t n = 0;
  value_or_throw(run->bind(0, std::span(&n, 1)));
  value_or_throw(run->bind(1, std::span(x)));
  value_or_throw(run->run());
  runtime::AllocWatch watch;
  watch.start();
  const bool ok = run->run().ok();
  const runtime::AllocCounts seen = watch.stop();
  EXPECT_TRUE(ok);
  EXPECT_EQ(*static_cast<const int64_t*>(run->result(0)), 9);
  EXPECT_EQ(seen.allocations, 0);
  EXPECT_EQ(seen.maps, 0);
}

}  // namespace
}  // namespace cleave
