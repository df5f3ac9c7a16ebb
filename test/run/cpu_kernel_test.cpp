// A kernel on the cores: how its phases are cut, and which failed check it reports.
#include "run/cpu_kernel.h"

#include <gtest/gtest.h>

#include "backend/cpu/build_units.h"
#include "loop/parse.h"
#include "schedule/schedule.h"

namespace cleave::cpu {
namespace {

// Runs all pieces, the last one first, and counts them.
struct Counting : Executor {
  int threads() const override { return 1; }
  void parallel_for(long pieces, void (*f)(void*, long), void* context) override {
    counts.push_back(pieces);
    for (long i = pieces; i-- > 0;) f(context, i);
  }
  std::vector<long> counts;
};

std::unique_ptr<const KernelFunction> kernel(const std::string& text) {
  const loop::Kernel kernel = value_or_throw(loop::parse_kernel(text, "t"));
  return std::move(bytecode_kernels({schedule::schedule(kernel)}).at(0));
}

// y = x + 1, 64 rows of 4.
std::string rows(int64_t work) {
  return "kernel %y(%x: f32[256] read, %y: f32[256] write) work " + std::to_string(work) +
         " {\n  for i in 64 parallel {\n    for j in 4 independent {\n"
         "      %y[i*4 + j] = %x[i*4 + j] + 1.0\n    }\n  }\n}\n";
}

TEST(CpuKernel, pieces_depend_on_the_work_and_the_range) {
  const std::vector<std::pair<int64_t, std::vector<long>>> cases = {
      {256, {}}, {(1 << 16) - 1, {}}, {1 << 16, {2}}, {1 << 20, {32}}, {int64_t{1} << 40, {64}}};
  for (const auto& [work, pieces] : cases) {
    std::vector<float> x(256), y(256);
    for (size_t k = 0; k < x.size(); ++k) x[k] = static_cast<float>(k);
    void* const buffers[] = {x.data(), y.data()};
    Counting executor;
    EXPECT_FALSE(kernel(rows(work))->call(buffers, nullptr, {executor}));
    EXPECT_EQ(executor.counts, pieces) << work;  // one piece runs at once
    for (size_t k = 0; k < x.size(); ++k) ASSERT_EQ(y[k], x[k] + 1) << work;
  }
}

TEST(CpuKernel, the_first_failed_piece_is_reported) {
  const auto checked = kernel(
      "kernel %y(%i: i64[64] read, %x: f32[8] read, %y: f32[64] write) work 65536 {\n"
      "  for p in 64 parallel {\n    let at = %i[p]\n"
      "    check logical_and(ge(at, 0), lt(at, 8)) \"take: index\" index at bound 8 from 0\n"
      "    %y[p] = %x[at]\n  }\n}\n");
  std::vector<int64_t> index(64, 7);
  std::vector<float> x(8, 2), y(64);
  void* const buffers[] = {index.data(), x.data(), y.data()};
  Counting executor;
  EXPECT_FALSE(checked->call(buffers, nullptr, {executor}));
  EXPECT_EQ(y, std::vector<float>(64, 2));
  index[60] = 9;  // in the last piece, which runs first
  index[3] = -1;
  const std::optional<Fault> fault = checked->call(buffers, nullptr, {executor});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->message, "take: index");
  EXPECT_TRUE(fault->from_zero);
  EXPECT_EQ(fault->index, -1);
  EXPECT_EQ(fault->bound, 8);
}

TEST(CpuKernel, nothing_runs_after_a_phase_that_failed) {
  const auto two = kernel(
      "kernel %y(%y: f32[1] write) {\n  check false \"never\"\n"
      "  for p in 1 parallel {\n    %y[0] = 1.0\n  }\n}\n");
  float y = 0;
  void* const buffers[] = {&y};
  Counting executor;
  const std::optional<Fault> fault = two->call(buffers, nullptr, {executor});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->bound, -1);
  EXPECT_EQ(y, 0);
}

}  // namespace
}  // namespace cleave::cpu
