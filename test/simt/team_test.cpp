#include "simt/team.h"

#include <gtest/gtest.h>

#include "test/simt/threads.h"

namespace cleave::simt {
namespace {

// A kernel with these statements in an iteration p.
loop::Kernel around_iteration(const std::string& statements) {
  return test::loops(
      "kernel %y(%x: f32[99999999] read, %n: i64[9] read, %y: f32[99999999] update) {\n"
      "  for p in 4 parallel {\n" +
      statements + "\n  }\n}\n");
}
loop::Block of_iteration(const loop::Kernel& k) { return std::get<loop::For>(k.body[0].node).body; }
loop::Block of_iteration(const std::string& statements) {
  return of_iteration(around_iteration(statements));
}
int team_of(const std::string& statements) {
  const loop::Kernel k = around_iteration(statements);
  return team_threads(of_iteration(k), k);
}
std::string fold_of(const std::string& extents) {
  return "fold over " + extents + " {\ns = sum of %x[p]\n}\n%y[p] = s";
}
std::string loop_of(const std::string& extent, const std::string& kind = "independent") {
  return "for j in " + extent + " " + kind + " {\n%y[j] = 1.0\n}";
}
std::string columns_of(const std::string& rows) {
  return "for c in 64 lanes {\nfold over r in " + rows +
         " {\ns = sum of %x[r*64 + c]\n}\n%y[p*64 + c] = s\n}";
}
int splits_of(const std::string& rows) {
  return column_splits(std::get<loop::For>(of_iteration(columns_of(rows))[0].node));
}
// 0: they are shared out as any other loop.
int threads_of(const std::string& statements) {
  const loop::Kernel k = around_iteration(statements);
  return column_threads(std::get<loop::For>(of_iteration(k)[0].node), k);
}

TEST(Team, of_a_fold) {
  const std::pair<int64_t, int> all[] = {
      {1, 1},       {8, 1},       {9, 2},        {16, 2},        {17, 4},     {255, 32},
      {256, 32},    {2048, 32},   {2049, 128},   {8192, 128},    {8193, 256}, {32768, 256},
      {32769, 512}, {65536, 512}, {65537, 1024}, {1 << 30, 1024}};
  for (const auto& [n, threads] : all) EXPECT_EQ(fold_threads(n), threads) << n;
  EXPECT_EQ(fold_threads(0), warp_lanes);  // not known
}

TEST(Team, is_that_of_the_longest_statement) {
  EXPECT_EQ(team_of("%y[p] = 1.0"), 1);
  EXPECT_EQ(team_of(fold_of("r in 64")), 8);
  EXPECT_EQ(team_of(fold_of("q in 40, r in 100")), 128);
  EXPECT_EQ(team_of(fold_of("r in %n[p]")), 32);
  EXPECT_EQ(team_of(fold_of("r in min(%n[p], 64)")), 8);
  EXPECT_EQ(team_of(fold_of("r in 64") + "\n" + loop_of("40000")), 512);
  EXPECT_EQ(team_of("for t in 3 {\n" + loop_of("768") + "\n}"), 32);
  EXPECT_EQ(team_of("if lt(p, 2) {\n" + loop_of("768") + "\n}"), 32);
}

TEST(Team, of_a_loop) {
  EXPECT_EQ(team_of(loop_of("15")), 1);
  EXPECT_EQ(team_of(loop_of("16")), 2);
  EXPECT_EQ(team_of(loop_of("2048")), 32);
  EXPECT_EQ(team_of(loop_of("2049")), 128);
  EXPECT_EQ(team_of(loop_of("%n[p]")), 32);
  EXPECT_EQ(team_of(loop_of("2048", "")), 32);  // serial, but it runs in vectors
  EXPECT_EQ(team_of("for j in 2048 {\n%y[j + 1] = %y[j]\n}"), 1);
  EXPECT_EQ(team_of(loop_of("40", "lanes")), 64);
  EXPECT_EQ(team_of(loop_of("64", "lanes")), 64);
}

TEST(Team, loops_that_hold_longer_ones_are_not_shared_out) {
  const auto spread = [](const std::string& statements) {
    return is_spread(std::get<loop::For>(of_iteration(statements)[0].node));
  };
  EXPECT_TRUE(spread(loop_of("768")));
  EXPECT_TRUE(spread(loop_of("768", "")));
  EXPECT_FALSE(spread("for j in 768 {\n%y[j + 1] = %y[j]\n}"));
  EXPECT_FALSE(
      spread("for i in 16 independent {\nfor j in 768 independent {\n%y[i*768 + j] = "
             "1.0\n}\n}"));
  EXPECT_TRUE(
      spread("for i in 768 independent {\nfor j in 16 independent {\n%y[i*16 + j] = "
             "1.0\n}\n}"));
  EXPECT_FALSE(
      spread("for i in 768 independent {\nfold over j in 100 {\ns = sum of %x[j]\n}\n%y[i]"
             " = s\n}"));
}

TEST(Team, of_a_tile) {
  const auto tile = [](int64_t i, int64_t j, const char* body) {
    return fmt::format("for i in {} independent {{\nfor j in {} independent {{\n{}\n}}\n}}", i, j,
                       body);
  };
  const char* turned = "%y[i*64 + j] = %x[j*64 + i]";
  EXPECT_EQ(team_of(tile(64, 64, turned)), 256);
  EXPECT_EQ(team_of(tile(16, 16, turned)), 256);
  EXPECT_NE(team_of(tile(256, 64, turned)), 256);                 // longer than a tile's side
  EXPECT_NE(team_of(tile(64, 64, "%y[i*64 + j] = %y[j]")), 256);  // reads what it writes
}

TEST(Team, columns_with_long_folds_are_split) {
  EXPECT_EQ(splits_of("16"), 1);
  EXPECT_EQ(splits_of("17"), 2);
  EXPECT_EQ(splits_of("32"), 2);
  EXPECT_EQ(splits_of("33"), 4);
  EXPECT_EQ(splits_of("512"), 32);
  EXPECT_EQ(splits_of("4096"), 32);
  EXPECT_EQ(splits_of("min(%n[p], 300)"), 32);
}

// A thread takes four columns of f32.
TEST(Team, of_columns) {
  EXPECT_EQ(team_of(columns_of("16")), 16);
  EXPECT_EQ(team_of(columns_of("32")), 32);
  EXPECT_EQ(team_of(columns_of("512")), 512);
  EXPECT_EQ(threads_of(columns_of("32")), 32);
  const std::string halves =
      "kernel %y(%h: bf16[640] read, %y: f32[64] write) {\n  for p in 1 parallel {\n"
      "    for c in 64 lanes {\n      fold over r in 10 {\n        s = sum of %h[r*64 + c]\n      "
      "}\n      %y[c] = s\n    }\n  }\n}\n";
  const loop::Kernel k = test::loops(halves);
  EXPECT_EQ(team_threads(of_iteration(k), k), 8);
}

// A thread has one of few columns, and more threads share their rows.
TEST(Team, of_few_columns_of_many_rows) {
  const auto narrow = [](const std::string& columns, const std::string& rows, int folds) {
    std::string all = "for c in " + columns + " lanes {\n";
    for (int i = 0; i < folds; ++i)
      all += fmt::format("fold over r in {} {{\ns{} = sum of %x[r*64 + c]\n}}\n", rows, i);
    return all + "%y[p*64 + c] = s0\n}";
  };
  EXPECT_EQ(threads_of(narrow("8", "1024", 1)), 512);
  EXPECT_EQ(threads_of(narrow("min(%n[p], 8)", "1024", 1)), 512);
  EXPECT_EQ(threads_of(narrow("5", "1024", 1)), 512);
  EXPECT_EQ(threads_of(narrow("8", "512", 1)), 256);
  EXPECT_EQ(threads_of(narrow("8", "255", 1)), 128);
  EXPECT_EQ(threads_of(narrow("8", "240", 1)), 32);  // 15 blocks: 4 columns to a thread
  EXPECT_EQ(threads_of(narrow("9", "1024", 1)), 128);
  EXPECT_EQ(threads_of(narrow("8", "1024", 16)), 512);
  EXPECT_EQ(threads_of(narrow("8", "1024", 17)), 256);  // shared memory for their sums
}

TEST(Team, columns_that_are_shared_out_as_any_other_loop) {
  EXPECT_GT(threads_of(columns_of("100")), 0);
  // A thread reads what another would write.
  EXPECT_EQ(threads_of("for c in 64 lanes {\nfold over r in 100 {\ns = sum of %y[r*64 + c]\n}\n"
                       "%y[c] = s\n}"),
            0);
  // More than folds and stores.
  EXPECT_EQ(threads_of("for c in 64 lanes {\nfold over r in 100 {\ns = sum of %x[r*64 + c]\n}\n"
                       "for q in 9 {\n%y[q*64 + c] = s\n}\n}"),
            0);
  EXPECT_EQ(threads_of("for c in 64 lanes {\n%y[c] = 1.0\n}"), 0);
  EXPECT_EQ(threads_of("for c in 64 independent {\nfold over r in 9 {\ns = sum of %x[r*64 + "
                       "c]\n}\n%y[c] = s\n}"),
            0);
  EXPECT_EQ(threads_of("for c in 64 lanes {\nfold over q in 100, r in 9 {\ns = sum of %x[r*64 + "
                       "c]\n}\n%y[c] = s\n}"),
            0);
}

TEST(Team, the_most_elements_of_a_fold) {
  const auto most = [](const std::string& extents) {
    return most_elements(std::get<loop::Reduce>(of_iteration(fold_of(extents))[0].node).loops);
  };
  EXPECT_EQ(most("r in 64"), 64);
  EXPECT_EQ(most("q in 40, r in 100"), 4000);
  EXPECT_EQ(most("r in min(%n[p], 64)"), 64);
  EXPECT_EQ(most("r in %n[p]"), 0);
  EXPECT_EQ(most("r in -1"), 0);
}

}  // namespace
}  // namespace cleave::simt
