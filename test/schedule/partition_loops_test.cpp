// Loops that are split where their tests change: which, where, and what stays of the tests.
#include "schedule/partition_loops.h"

#include <gtest/gtest.h>

#include "loop/parse.h"
#include "schedule/range_tests.h"

namespace cleave::schedule {
namespace {

// The loops over j that `body` becomes.
std::string partitioned(const std::string& extent, const std::string& body) {
  const std::string text =
      "kernel %y(%x: f32[4096] read, %y: f32[4096] write) {\n  for p in 8 parallel {\n    for j "
      "in " +
      extent + " {\n      " + body + "\n    }\n  }\n}\n";
  loop::Kernel k = value_or_throw(loop::parse_kernel(text, "t"));
  partition_loops(k);
  EXPECT_TRUE(loop::verify(k).ok()) << print(k);
  const std::string out = print(k);
  const size_t begin = out.find("    for j"), end = out.rfind("  }\n}");
  return out.substr(begin, end - begin);
}
TEST(PartitionLoops, drop_tests_within_a_padded_row) {
  EXPECT_EQ(partitioned("56",
                        "%y[p*56 + j] = select(logical_and(ge(j*2 - 1, 0), lt(j*2 - 1, 110)), "
                        "%x[max(min(j*2 - 1, 109), 0)], 0.0)"),
            "    for j in 1 {\n      %y[p*56 + j] = 0.0\n    }\n"
            "    for j in 55 {\n      %y[p*56 + (j + 1)] = %x[(j + 1)*2 - 1]\n    }\n");
}

TEST(PartitionLoops, tell_the_parts_of_a_cat) {
  EXPECT_EQ(partitioned("64",
                        "%y[p*64 + j] = select(lt(j, 32), %x[min(j, 31)], "
                        "%x[p*32 + max(j - 32, 0)])"),
            "    for j in 32 {\n      %y[p*64 + j] = %x[j]\n    }\n"
            "    for j in 32 {\n      %y[p*64 + (j + 32)] = %x[p*32 + (j + 32 - 32)]\n    }\n");
}

// Of few elements too, where a test is in an address: else all of them would be gathered.
TEST(PartitionLoops, read_neighbours_in_short_rows) {
  EXPECT_EQ(partitioned("8", "%y[p*8 + j] = select(ge(j - 1, 0), %x[p*8 + max(j - 1, 0)], 0.0)"),
            "    for j in 1 {\n      %y[p*8 + j] = 0.0\n    }\n"
            "    for j in 7 {\n      %y[p*8 + (j + 1)] = %x[p*8 + (j + 1 - 1)]\n    }\n");
}

TEST(PartitionLoops, keep_what_differs_by_row) {
  EXPECT_EQ(partitioned("40",
                        "%y[p*40 + j] = select(logical_and(ge(p - 1, 0), ge(j - 1, 0)), "
                        "%x[j], 0.0)"),
            "    for j in 1 {\n      %y[p*40 + j] = 0.0\n    }\n"
            "    for j in 39 {\n      %y[p*40 + (j + 1)] = select(ge(p - 1, 0), %x[j + 1], 0.0)\n  "
            "  }\n");
}

TEST(PartitionLoops, join_short_parts) {
  EXPECT_EQ(partitioned("40", "%y[p*40 + j] = select(lt(j, 2), 1.0, select(lt(j, 5), 2.0, 3.0))"),
            "    for j in 5 {\n      %y[p*40 + j] = select(lt(j, 2), 1.0, 2.0)\n    }\n"
            "    for j in 35 {\n      %y[p*40 + (j + 5)] = 3.0\n    }\n");
}

TEST(PartitionLoops, leave_loops_that_gain_nothing) {
  const auto stays = [](const std::string& extent, const std::string& body) {
    EXPECT_EQ(partitioned(extent, body),
              "    for j in " + extent + " {\n      " + body + "\n    }\n");
  };
  stays("16", "%y[p*16 + j] = select(lt(j, 8), 1.0, 2.0)");     // short
  stays("30", "%y[p*30 + j] = select(lt(j, 15), 1.0, 2.0)");    // two short parts
  stays("9", "%y[p*9 + j] = select(lt(j, 4), %x[j], 2.0)");     // reads neighbours as it is
  stays("64", "%y[p*64 + j] = select(lt(j, p), 1.0, 2.0)");     // where it changes isn't known
  stays("64", "%y[p*64 + j] = select(eq(j, 32), 1.0, 2.0)");    // changes twice
  stays("64", "%y[p*64 + j] = select(lt(j, 64), %x[j], 2.0)");  // never changes
  stays("p*64", "%y[j] = select(lt(j, 32), 1.0, 2.0)");
}

// Each part of the index is read twice by the next: looked at once.
TEST(PartitionLoops, look_at_shared_parts_once) {
  const loop::Expr j = loop::make_var(1, "j", DType::i64);
  loop::Expr e = j;
  for (int k = 0; k < 200; ++k) e = (e - loop::Expr(1)) + (loop::Expr(2) - e) + e;
  RangeTests tests(j);
  std::set<int64_t> changes;
  tests.changes_of(binary(loop::Op::lt, e, loop::Expr(232)), 64, changes);
  EXPECT_EQ(changes, (std::set<int64_t>{32}));
}

}  // namespace
}  // namespace cleave::schedule
