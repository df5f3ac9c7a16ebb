// Interpreted kernels allocate nothing, however long they are.
#include <gtest/gtest.h>

#include "emit/bytecode.h"
#include "loop/parse.h"
#include "runtime/alloc_watch.h"
#include "schedule/schedule.h"

namespace cleave::emit {
namespace {

TEST(LongKernel, allocates_in_its_first_run_alone) {
  if (!runtime::AllocWatch::available()) GTEST_SKIP() << "no allocations are seen here";
  std::string text =
      "kernel %k(%x: f32[4] read, %y: f32[4] write) work 4 {\n"
      "  for i in 4 parallel {\n    let v0 = %x[i]\n";
  constexpr int lets = 5000;
  for (int k = 1; k <= lets; ++k)
    text += fmt::format("    let v{} = v{} + {}.0\n", k, k - 1, k % 7);
  text += fmt::format("    %y[i] = v{}\n  }}\n}}\n", lets);
  const loop::Kernel kernel = value_or_throw(loop::parse_kernel(text, "long"));
  value_or_throw(loop::verify(kernel));
  const BytecodeKernel code = emit_bytecode(schedule::schedule(kernel));
  ASSERT_EQ(code.phases.size(), 1u);
  float x[4] = {0, 1, 2, 3}, y[4] = {};
  void* buffers[] = {x, y};
  int64_t fault[2] = {};
  const auto run = [&] { return code.phases[0].code->run(buffers, nullptr, 0, 4, fault); };
  EXPECT_EQ(run(), 0);
  runtime::AllocWatch watch;
  watch.start();
  const int64_t failed = run();
  const runtime::AllocCounts seen = watch.stop();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(seen.allocations, 0);
  EXPECT_EQ(y[3] - y[0], 3);
}

}  // namespace
}  // namespace cleave::emit
