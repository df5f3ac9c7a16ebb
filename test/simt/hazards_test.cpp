// Where a team waits. Statements stand in an iteration p of a parallel loop.
#include "simt/hazards.h"

#include <gtest/gtest.h>

#include "simt/team.h"
#include "test/simt/threads.h"

namespace cleave::simt {
namespace {

loop::Block iteration(const std::string& statements) {
  const loop::Kernel k = test::loops(
      "kernel %y(%x: f32[4096] read, %i: i64[4096] read, %y: f32[4096] update, %z: f32[4096] "
      "update) {\n  for p in 4 parallel {\n    let base = p*1024\n" +
      statements + "\n  }\n}\n");
  const loop::Block& all = std::get<loop::For>(k.body[0].node).body;
  return {all.begin() + 1, all.end()};
}

// Whether a team waits between two statements.
bool waits(const std::string& first, const std::string& second) {
  const loop::Block b = iteration(first + "\n" + second);
  EXPECT_EQ(b.size(), 2u);
  return conflict(accesses_of(b[0], fold_chunk), accesses_of(b[1], fold_chunk));
}
// Whether it waits in each iteration of the serial loop.
bool waits_in(const std::string& loop) {
  return conflict_in_loop(std::get<loop::For>(iteration(loop)[0].node), fold_chunk);
}

const std::string writes_y = "for j in 1000 independent {\n%y[base + j] = 1.0\n}";

TEST(Hazards, reads_alone_are_none) {
  EXPECT_FALSE(waits("for j in 1000 independent {\n%y[base + j] = %x[base + j]\n}",
                     "for j in 500 independent {\n%z[base + j] = %x[base + j + 500]\n}"));
}

TEST(Hazards, an_element_stays_with_its_thread) {
  EXPECT_FALSE(waits(writes_y, "for k in 1000 independent {\n%z[base + k] = %y[base + k]\n}"));
  EXPECT_FALSE(waits(writes_y, "fold over k in 1000 {\ns = sum of %y[base + k]\n}"));
  EXPECT_FALSE(waits(writes_y, "for k in 1000 independent {\n%y[base + k] = 2.0\n}"));
  EXPECT_FALSE(waits("fold over k in 1000 {\n%y[base + k] = 1.0\ns = sum of %x[base + k]\n}",
                     "for k in 1000 independent {\n%z[base + k] = %y[base + k]\n}"));
}

TEST(Hazards, another_share) {
  EXPECT_TRUE(waits(writes_y, "for k in 999 independent {\n%z[base + k] = %y[base + k]\n}"));
  EXPECT_TRUE(waits(writes_y, "for k in 1000 independent {\n%z[base + k] = %y[base + k + 1]\n}"));
  EXPECT_TRUE(waits(writes_y, "for k in 1000 independent {\n%z[base + k] = %y[base + 999 - k]\n}"));
  EXPECT_TRUE(waits(writes_y, "for k in 1000 independent {\n%z[base + k] = %y[base + %i[k]]\n}"));
  EXPECT_TRUE(waits(writes_y, "fold over q in 10, k in 100 {\ns = sum of %y[base + q*100 + k]\n}"));
  EXPECT_TRUE(waits(writes_y, "for k in min(1000, 64) lanes {\n%z[base + k] = %y[base + k]\n}"));
}

TEST(Hazards, a_write_after_a_read) {
  EXPECT_TRUE(waits("for k in 1000 independent {\n%z[base + k] = %y[base + 999 - k]\n}", writes_y));
  EXPECT_TRUE(waits("let t = %y[base]", writes_y));
}

TEST(Hazards, one_thread_writes_what_all_read) {
  EXPECT_TRUE(waits("%y[base] = 1.0", "let t = %y[base]"));
  EXPECT_TRUE(waits("let t = %y[base]", "%y[base] = 1.0"));
  EXPECT_FALSE(waits("%y[base] = 1.0", "%y[base] = 2.0"));  // the same one
  EXPECT_TRUE(waits("%y[base] = 1.0", "for k in 1000 independent {\n%z[k] = %y[base]\n}"));
  EXPECT_FALSE(waits("%y[base] = 1.0", "let t = %z[base]"));
}

TEST(Hazards, indices_by_names_are_the_same_as_without) {
  EXPECT_FALSE(
      waits(writes_y, "for k in 1000 independent {\nlet at = base + k\n%z[at] = %y[at]\n}"));
}

TEST(Hazards, in_conditions_and_extents) {
  EXPECT_TRUE(waits(writes_y, "if gt(%y[base], 0.0) {\n%z[base] = 1.0\n}"));
  EXPECT_TRUE(waits("for k in 1000 independent {\n%z[base + k] = 1.0\n}",
                    "for k in i64(%z[base]) independent {\n%y[base + k] = 1.0\n}"));
  EXPECT_TRUE(waits(writes_y, "check gt(%y[base], 0.0) \"y\""));
}

TEST(Hazards, of_the_iterations_of_a_loop) {
  // Each thread its own elements, the same in each iteration.
  EXPECT_FALSE(
      waits_in("for t in 9 {\nfor j in 1000 independent {\n"
               "%y[base + j] = %y[base + j] + %x[t*1000 + j]\n}\n}"));
  // Other elements in each.
  EXPECT_TRUE(
      waits_in("for t in 9 {\nfor j in 100 independent {\n"
               "%y[base + t*100 + j] = %y[base + t*100 + j] + 1.0\n}\n}"));
  // One thread's, which all read.
  EXPECT_TRUE(waits_in("for t in 9 {\n%y[base] = %y[base] + 1.0\n}"));
  // Nothing is read that is written.
  EXPECT_FALSE(waits_in("for t in 9 {\n%y[base + t] = 1.0\n}"));
  EXPECT_FALSE(waits_in("for t in 9 {\nfor j in 1000 independent {\n%z[j] = %x[t + j]\n}\n}"));
}

}  // namespace
}  // namespace cleave::simt
