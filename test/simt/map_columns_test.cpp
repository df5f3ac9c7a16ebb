// Loops over columns, and the orders of sums of rows and columns, as threads compute them.
// tests: phase_columns.cpp
#include <random>

#include "loop/parse.h"
#include "simt/simulate.h"
#include "test/simt/mapped.h"

namespace cleave::simt {
namespace {

// ---- columns

TEST(MapColumns, columns_are_split_among_threads) {
  for (const int64_t rows : {1, 5, 31, 32, 33, 63, 64, 65, 127, 128, 129, 200, 511, 512, 513, 600})
    EXPECT_EQ(test::wrong(sums_of_columns_of(100, rows)), "") << rows;
  for (const int64_t n : {1, 2, 63, 64, 65, 128, 130}) {
    EXPECT_EQ(test::wrong(sums_of_columns_of(n, 70)), "") << n;
    EXPECT_EQ(test::wrong(sums_of_columns_of(n, 520)), "") << n;
  }
  EXPECT_EQ(mapped(sums_of_columns_of(128, 64)).phases[0].blocks, 2);
  EXPECT_EQ(mapped(sums_of_columns_of(128, 64)).phases[0].threads, 64);
  EXPECT_EQ(mapped(sums_of_columns_of(128, 512)).phases[0].threads, 512);
  // Sums of f64, as those of parts are.
  std::string parts = sums_of_columns_of(128, 512);
  for (size_t at = 0; (at = parts.find("f32", at)) != std::string::npos;)
    parts.replace(at, 3, "f64");
  EXPECT_EQ(test::wrong(parts), "");
  EXPECT_EQ(mapped(parts).phases[0].threads, 512);
}

// What a branch of a select may read is read at once where it is known to be there.
TEST(MapColumns, reads_in_branches) {
  const auto of = [](int64_t elements) {
    return test::with(
        "kernel %y(%x: bf16[6272] read, %m: bool[6272] read, %g: bf16[G] read, %y: f32[64] write) "
        "work 6272 {\n  for p in 1 parallel {\n    for c in 64 lanes {\n"
        "      fold over r in 98 {\n        s = sum of select(%m[r*64 + c], 0.0, "
        "%g[truncdiv(r, 49)*64 + c])*%x[r*64 + c]\n      }\n      %y[c] = s\n    }\n  }\n}\n",
        {{"G", elements}});
  };
  EXPECT_EQ(test::wrong(of(128)), "");
  EXPECT_GT(test::count<CopyIn>(mapped(of(128))), test::count<CopyIn>(mapped(of(120))));
}

// Sums of the columns of %x and %z, and a third loop that reads or doesn't read what one writes.
std::string sums_of_two(const char* third) {
  return fmt::format(
      "kernel %y(%x: f32[6400] read, %z: f32[6400] read, %y: f32[64] update, %u: f32[64] update, "
      "%v: f32[64] write) work 6400 {{\n"
      "  for p in 1 parallel {{\n    for c in 64 lanes {{\n      fold over r in 100 {{\n"
      "        s = sum of %x[r*64 + c]\n      }}\n      %y[c] = s\n    }}\n  }}\n"
      "  for p2 in 1 parallel {{\n    for c2 in 64 lanes {{\n      fold over r2 in 100 {{\n"
      "        s2 = sum of %z[r2*64 + c2]\n      }}\n      %u[c2] = s2\n    }}\n  }}\n"
      "  for p3 in 1 parallel {{\n    for c3 in 64 lanes {{\n      fold over r3 in 100 {{\n"
      "        s3 = sum of {}\n      }}\n      %v[c3] = s3\n    }}\n  }}\n}}\n",
      third);
}

TEST(MapColumns, loops_that_do_not_wait_for_each_other_are_one_launch) {
  const std::string apart = sums_of_two("%x[r3*64 + c3]*%z[r3*64 + c3]"),
                    after = sums_of_two("%x[r3*64 + c3]*%u[c3]");
  EXPECT_EQ(test::wrong(apart), "");
  EXPECT_EQ(test::wrong(after), "");
  ASSERT_EQ(mapped(apart).phases.size(), 1u);
  EXPECT_EQ(mapped(apart).phases[0].blocks, 3);
  ASSERT_EQ(mapped(after).phases.size(), 2u);
  EXPECT_EQ(mapped(after).phases[0].blocks, 2);
}

TEST(MapColumns, several_folds_of_a_column) {
  const std::string text =
      "kernel %y(%x: f32[R] read, %g: f32[R] read, %y: f32[N] write, %top: f32[N] write, %z: "
      "f32[R] "
      "write) work R {\n  for p in 2 parallel {\n    for c in min(N - p*64, 64) lanes {\n"
      "      fold over r in 90 {\n        let v = %x[r*N + p*64 + c]\n"
      "        %z[r*N + p*64 + c] = v*2.0\n        s = sum of v\n        m = max of v\n      }\n"
      "      fold over r2 in 90 {\n        q = sum of (%x[r2*N + p*64 + c] - m)*s\n      }\n"
      "      %y[p*64 + c] = q\n      %top[p*64 + c] = m\n    }\n  }\n}\n";
  for (const int64_t n : {70, 128})
    EXPECT_EQ(test::wrong(test::with(text, {{"N", n}, {"R", 90 * n}})), "") << n;
}

// The means of columns, kept in %t, then the sums of squares about them.
const std::string two_passes_of_columns =
    "kernel %y(%x: f32[R] read, %y: f32[N] write, %t: f32[64] local) work R {\n"
    "  for p in 2 parallel {\n    for c in 64 lanes {\n"
    "      fold over r in K {\n        s = sum of %x[r*N + p*64 + c]\n      }\n"
    "      %t[c] = s*0.01\n    }\n"
    "    for c2 in 64 lanes {\n      fold over r2 in K {\n"
    "        let d = %x[r2*N + p*64 + c2] - %t[c2]\n        q = sum of d*d\n      }\n"
    "      %y[p*64 + c2] = q\n    }\n  }\n}\n";

std::string two_passes(std::string text, int64_t rows) {
  return test::with(std::move(text), {{"N", 128}, {"R", 128 * rows}, {"K", rows}});
}

TEST(MapColumns, two_loops_over_columns_with_a_local_row) {
  for (const int64_t rows : {9, 63, 64, 100, 512})
    EXPECT_EQ(test::wrong(two_passes(two_passes_of_columns, rows)), "") << rows;
}

TEST(MapColumns, two_loops_over_columns) {
  std::string text = two_passes_of_columns;
  text.replace(text.find("f32[64] local"), 13, "f32[128] update");
  for (const char* column : {"%t[c]", "%t[c2]"})
    for (size_t at; (at = text.find(column)) != std::string::npos;)
      text.replace(at, 3, "%t[p*64 + ");
  for (const int64_t rows : {9, 63, 64, 100, 512})
    EXPECT_EQ(test::wrong(two_passes(text, rows)), "") << rows;
}

// ---- sums

// The sums of rows of n numbers, beside what `more` does.
std::vector<double> sums_of(int64_t rows, int64_t n, const std::string& more) {
  const Kernel k = mapped(test::with(
      "kernel %y(%x: f64[M] read, %y: f64[R] write, %z: f64[40000] write) {\n"
      "  for p in R parallel {\n    fold over r in N {\n      s = sum of %x[p*N + r]\n    }\n"
      "    %y[p] = s\n" +
          more + "  }\n}\n",
      {{"M", rows * n}, {"R", rows}, {"N", n}}));
  std::mt19937_64 rng(1);
  std::vector<double> x(static_cast<size_t>(rows * n)), y(static_cast<size_t>(rows)), z(40000);
  for (double& v : x) v = std::uniform_real_distribution<double>(-1, 1)(rng);
  void* const buffers[] = {x.data(), y.data(), z.data()};
  EXPECT_EQ(simulate(k, buffers, {}).defects, std::vector<std::string>());
  return y;
}

// What else an iteration holds doesn't change the bits of a sum, though it may take more threads.
TEST(MapColumns, the_order_of_a_sum_is_that_of_its_length) {
  const std::string more = "    for j in 40000 independent {\n      %z[j] = 1.0\n    }\n";
  for (const int64_t n : {8, 100, 256, 768, 2048, 3000, 9000, 40000})
    EXPECT_EQ(sums_of(1, n, ""), sums_of(1, n, more)) << n;
}

// The same of columns, of 100 rows each.
std::vector<double> column_sums(const std::string& in_columns, const std::string& more) {
  const Kernel k = mapped(
      "kernel %y(%x: f64[6400] read, %w: f64[64000] read, %y: f64[64] write, %z: f64[40000] write) "
      "{\n  for p in 1 parallel {\n    for c in 64 lanes {\n" +
      in_columns +
      "      fold over r in 100 {\n        s = sum of %x[r*64 + c]\n      }\n      %y[c] = s\n"
      "    }\n" +
      more + "  }\n}\n");
  std::mt19937_64 rng(1);
  std::vector<double> x(6400), w(64000), y(64), z(40000);
  for (double& v : x) v = std::uniform_real_distribution<double>(-1, 1)(rng);
  void* const buffers[] = {x.data(), w.data(), y.data(), z.data()};
  EXPECT_EQ(simulate(k, buffers, {}).defects, std::vector<std::string>());
  return y;
}

TEST(MapColumns, the_order_of_a_columns_sum_is_that_of_its_length) {
  const std::vector<double> alone = column_sums("", "");
  EXPECT_EQ(alone, column_sums("", "    for j in 40000 independent {\n      %z[j] = 1.0\n    }\n"));
  EXPECT_EQ(alone,
            column_sums("      fold over q in 1000 {\n        t = sum of %w[q*64 + c]\n      "
                        "}\n      %z[c] = t\n",
                        ""));
  EXPECT_EQ(alone, column_sums("      for i in 3 {\n        %z[i*64 + c] = 1.0\n      }\n", ""));
}

}  // namespace
}  // namespace cleave::simt
