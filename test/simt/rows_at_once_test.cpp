// Rows that read the same numbers of each column, several to a thread.
// tests: phase_rows.cpp
#include <gtest/gtest.h>

#include "simt/map_threads.h"
#include "test/simt/mapped.h"

namespace cleave::simt {
namespace {

const std::string norm =
    "kernel %y(%x: bf16[M] read, %w: f32[N] read, %b: f32[N] read, %y: bf16[M] write) work M {\n"
    "  for p in R parallel {\n    for j in N independent {\n"
    "      %y[p*N + j] = %x[p*N + j]*%w[j] + %b[j]\n    }\n  }\n}\n";

std::string of(const std::string& text, int64_t rows, int64_t n) {
  return test::with(text, {{"M", rows * n}, {"R", rows}, {"N", n}});
}
const MapSizes small{.many_blocks = 1, .medium = 4, .large = 64};
Kernel made(int64_t rows, int64_t n) { return map_threads(test::loops(of(norm, rows, n)), small); }

TEST(RowsAtOnce, what_all_rows_read_is_read_once) {
  const Kernel k = made(128, 256);
  EXPECT_EQ(test::count<CopyIn>(k), 4 + 1 + 1);
  EXPECT_EQ(test::count<CopyOut>(k), 4);
  EXPECT_EQ(k.phases[0].blocks, 128 / 4 / 4);  // of 4 teams
  EXPECT_EQ(test::count<CopyIn>(made(130, 256)), 2 + 1 + 1);
  EXPECT_EQ(test::count<CopyIn>(made(131, 256)), 1 + 1 + 1);
  EXPECT_EQ(test::count<CopyIn>(made(128, 512)), 4 + 1 + 1);
  EXPECT_EQ(test::count<CopyIn>(made(128, 4096)), 4 + 1 + 1);  // in a loop over chunks
}

// A row of 18 chunks has 18 threads, not 32 of which 14 are idle.
TEST(RowsAtOnce, few_threads_have_nothing_to_do) {
  for (const auto& [n, team] :
       {std::pair{24, 3}, {40, 5}, {144, 18}, {240, 30}, {672, 84}, {1152, 144}, {2560, 320}}) {
    const Kernel k = made(4096, n);
    const Phase& phase = k.phases[0];
    const int teams = phase.threads / team;
    EXPECT_LE(phase.threads - teams * team, phase.threads / 16) << n;
    EXPECT_EQ(phase.blocks, (4096 / 4 + teams - 1) / teams) << n;
    EXPECT_EQ(phase.threads % 32, 0) << n;
  }
  EXPECT_EQ(made(4096, 256).phases[0].threads, 128);
}

TEST(RowsAtOnce, compute_what_the_loops_say) {
  const std::string in_place =
      "kernel %x(%x: bf16[M] update, %w: f32[N] read, %b: f32[N] read) work M {\n"
      "  for p in R parallel {\n    for j in N independent {\n"
      "      let t = %x[p*N + j]*%w[j]\n      %x[p*N + j] = t + %b[j]\n    }\n  }\n}\n";
  for (const std::string& text : {norm, in_place})
    for (const auto& [rows, n] : {std::pair{128, 256},
                                  {132, 256},
                                  {130, 256},
                                  {2048, 16},
                                  {1032, 40},
                                  {128, 520},
                                  {128, 0},
                                  {132, 144},
                                  {1000, 24},
                                  {130, 672},
                                  {66, 2560},
                                  {64, 1024},
                                  {16, 4096},
                                  {8, 8200}})
      EXPECT_EQ(test::wrong(of(text, rows, n)), "") << rows << " " << n;
}

// There is nothing to gain where little is of all rows, or there are few.
TEST(RowsAtOnce, others_are_a_row_each) {
  std::string own = norm;
  for (const std::string part : {"%b[j]", "%w[j]"}) own.replace(own.find(part), 5, "1.0");
  const auto copies = [](const std::string& text, int64_t rows) {
    return test::count<CopyIn>(map_threads(test::loops(of(text, rows, 256)), small));
  };
  EXPECT_EQ(copies(own, 128), 1);
  EXPECT_EQ(copies(norm, 32), 2 + 1 + 1);
  EXPECT_EQ(copies(norm, 16), 1 + 1 + 1);
  EXPECT_EQ(test::count<CopyIn>(mapped(of(norm, 128, 256))), 1 + 1 + 1);
  EXPECT_EQ(map_threads(test::loops(of(own, 128, 256)), small).phases[0].threads, 128);
}

}  // namespace
}  // namespace cleave::simt
