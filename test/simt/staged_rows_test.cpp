// Long rows that several loops read, in shared memory.
// tests: phase_staged.cpp
#include <gtest/gtest.h>

#include "simt/map_threads.h"
#include "test/simt/mapped.h"

namespace cleave::simt {
namespace {

// What a loss reads of its logits: rows of N elements that begin at multiples of P.
const std::string maximum_and_sum =
    "kernel %s(%x: T[R] read, %m: f32[3] write, %s: f32[3] write) work R {\n"
    "  for p in 3 parallel {\n"
    "    fold over r in N {\n      m = max of %x[p*P + r]\n    }\n"
    "    fold over r2 in N {\n      s = sum of exp(%x[p*P + r2] - m)\n    }\n"
    "    %m[p] = m\n    %s[p] = s\n  }\n}\n";
const std::string softmax =
    "kernel %y(%x: T[R] read, %w: T[N] read, %y: T[R] update) work R {\n"
    "  for p in 3 parallel {\n"
    "    fold over r in N {\n      m = max of %x[p*P + r]\n    }\n"
    "    fold over r2 in N {\n      s = sum of exp(%x[p*P + r2] - m)*%w[r2]\n    }\n"
    "    for j in N independent {\n      %y[p*P + j] = div(exp(%x[p*P + j] - m), s)\n    }\n"
    "  }\n}\n";

std::string of(std::string text, const char* type, int64_t n, int64_t pitch) {
  for (size_t at; (at = text.find(": T[")) != text.npos;) text.replace(at + 2, 1, type);
  return test::with(text, {{"R", 3 * pitch}, {"P", pitch}, {"N", n}});
}
int64_t shared_rows(const Kernel& k) {
  return std::ranges::count_if(k.buffers, [](const Buffer& b) {
    return b.space == Space::shared && b.name.ends_with("_row");
  });
}

TEST(StagedRows, compute_what_the_loops_say) {
  for (const std::string& text : {maximum_and_sum, softmax})
    for (const auto& [type, n, pitch] : {std::tuple{"bf16", 24584, 24584},
                                         {"bf16", 24585, 24592},
                                         {"bf16", 30522, 30528},
                                         {"bf16", 32768, 32768},
                                         {"bf16", 32776, 32776},
                                         {"f32", 12296, 12296},
                                         {"f32", 16383, 16384},
                                         {"f32", 25000, 25000}})
      EXPECT_EQ(test::wrong(of(text, type, n, pitch)), "") << type << " " << n;
}

TEST(StagedRows, are_long_ones_that_are_read_again) {
  const auto rows = [](const std::string& text, const char* type, int64_t n, int64_t pitch) {
    return shared_rows(mapped(of(text, type, n, pitch)));
  };
  EXPECT_EQ(rows(maximum_and_sum, "bf16", 24584, 24584), 1);
  EXPECT_EQ(rows(maximum_and_sum, "bf16", 24576, 24576), 0);  // in registers
  EXPECT_EQ(rows(maximum_and_sum, "bf16", 50304, 50304), 1);
  EXPECT_EQ(rows(maximum_and_sum, "bf16", 50312, 50312), 0);  // more than a block has
  EXPECT_EQ(rows(maximum_and_sum, "f32", 25152, 25152), 1);
  EXPECT_EQ(rows(softmax, "bf16", 30522, 30528), 1);          // the other is read once
  EXPECT_EQ(rows(maximum_and_sum, "bf16", 30522, 30522), 0);  // rows begin anywhere
  std::string once = maximum_and_sum;
  once.replace(once.find("exp(%x[p*P + r2] - m)"), 21, "exp(m)");
  EXPECT_EQ(rows(once, "bf16", 30000, 30000), 0);
}

// A row is read once: by copies ahead, and by its last elements where they are.
TEST(StagedRows, are_copied_once) {
  const Kernel k = mapped(of(softmax, "bf16", 30528, 30528));
  EXPECT_EQ(test::count<CopyAhead>(k), 1);
  EXPECT_EQ(test::count<CopyWait>(k), 1);
  EXPECT_EQ(k.phases[0].threads, 256);
}

// Where a loop may not have run, or ran for another row, its row isn't there.
TEST(StagedRows, of_a_branch_or_a_loop_are_its_own) {
  const std::string text =
      "kernel %y(%x: bf16[R] read, %n: i64[3] read, %y: f32[R] write, %t: f32[3] write) {\n"
      "  for p in 3 parallel {\n    var top = 0.0\n    AROUND {\n"
      "      fold over r in N {\n        m = max of %x[p*P + r]\n      }\n"
      "      fold over r2 in N {\n        s = sum of exp(%x[p*P + r2] - m)\n      }\n"
      "      top = s\n    }\n"
      "    for j in N independent {\n      %y[p*P + j] = %x[p*P + j] + top\n    }\n"
      "    %t[p] = top\n  }\n}\n";
  for (const std::string around : {"if lt(p, 1)", "for i in truncdiv(%n[p], 2)"}) {
    std::string at = text;
    at.replace(at.find("AROUND"), 6, around);
    EXPECT_EQ(test::wrong(of(at, "bf16", 26000, 26000)), "") << around;
  }
}

TEST(StagedRows, without_a_wait_are_not_there) {
  const Kernel k = mapped(of(maximum_and_sum, "bf16", 26000, 26000));
  EXPECT_TRUE(test::defects(k).empty());
  EXPECT_FALSE(test::defects(test::without<CopyWait>(k, 0)).empty());
  EXPECT_FALSE(test::defects(test::without<CopyAhead>(k, 0)).empty());
}

}  // namespace
}  // namespace cleave::simt
