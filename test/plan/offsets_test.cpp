// The offset planner against its validator, and the validator against planted mistakes.
// tests: offsets_verify.cpp
#include "plan/offsets.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <random>

namespace cleave::plan {
namespace {

TEST(Offsets, BuffersThatNeverMeetShareMemory) {
  const std::vector<Lifetime> b = {{0, 2, 100}, {2, 4, 100}, {4, 6, 64}};
  const Offsets p = plan_offsets(b, 64);
  EXPECT_EQ(p.height, 128);
  EXPECT_EQ(p.lower_bound, 128);
  EXPECT_TRUE(verify_offsets(b, 64, p).ok());
}

TEST(Offsets, BuffersThatMeetAreApart) {
  const std::vector<Lifetime> b = {{0, 3, 64}, {2, 4, 64}, {1, 3, 1}};
  const Offsets p = plan_offsets(b, 64);
  EXPECT_EQ(p.height, 192);
  EXPECT_TRUE(verify_offsets(b, 64, p).ok());
}

TEST(Offsets, LowBuffersStartAtZero) {
  const std::vector<Lifetime> b = {{0, 9, 640}, {3, 4, 64}, {5, 6, 64}};
  const Offsets p = plan_offsets(b, 64, {1, 2});
  EXPECT_EQ(p.offset[1], 0);
  EXPECT_EQ(p.offset[2], 0);
  EXPECT_EQ(p.offset[0], 64);
  EXPECT_TRUE(verify_offsets(b, 64, p).ok());
}

// A workspace that is written in part must not be all that reaches the height.
TEST(Offsets, ALowBufferIsNotAloneOnTop) {
  std::mt19937 random(16);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random()) % n; };
  int met = 0;
  for (int i = 0; i < 300; ++i) {
    std::vector<Lifetime> b;
    for (int k = 0; k < 12; ++k) {
      const int64_t lower = below(20);
      b.push_back({lower, lower + 1 + below(8), 64 * (1 + below(20))});
    }
    const Offsets p = plan_offsets(b, 64, {0, 1, 2, 3});
    ASSERT_TRUE(verify_offsets(b, 64, p).ok());
    bool on_top = false;
    for (size_t k = 4; k < b.size(); ++k) on_top |= p.offset[k] + b[k].size == p.height;
    met += on_top;
  }
  EXPECT_GE(met, 280);  // in the others the low ones alone need the height
}

TEST(Offsets, EmptyBuffersTakeNothing) {
  const std::vector<Lifetime> b = {{0, 9, 0}, {0, 9, 0}};
  EXPECT_EQ(plan_offsets(b, 64).height, 0);
  EXPECT_EQ(plan_offsets({}, 64).height, 0);
}

TEST(Offsets, ValidatorSeesPlantedMistakes) {
  const std::vector<Lifetime> b = {{0, 3, 64}, {2, 4, 64}};
  Offsets p = plan_offsets(b, 64);
  ASSERT_TRUE(verify_offsets(b, 64, p).ok());
  Offsets overlap = p, misaligned = p, low = p, negative = p, few = p, too_high = p;
  negative.offset[0] = -64;
  few.offset.pop_back();
  too_high.lower_bound = p.height + 64;
  overlap.offset[1] = overlap.offset[0];
  misaligned.offset[0] += 1, misaligned.offset[1] += 1;
  low.height -= 64;
  for (const Offsets& wrong : {overlap, misaligned, low, negative, few, too_high})
    EXPECT_FALSE(verify_offsets(b, 64, wrong).ok());
}

RC_GTEST_PROP(Offsets, RandomPlansAreValidAndAboveTheBound, ()) {
  std::vector<Lifetime> b;
  for (int i = *rc::gen::inRange(0, 60); i > 0; --i) {
    const int64_t lower = *rc::gen::inRange(0, 40);
    b.push_back({lower, lower + *rc::gen::inRange(1, 20), *rc::gen::inRange(0, 5000)});
  }
  std::vector<size_t> low;
  for (size_t i = 0; i < b.size(); i += 7)
    if (*rc::gen::arbitrary<bool>()) low.push_back(i);
  OffsetOptions options{.alignment = 64, .low = low, .search_mops = 2};
  const Offsets p = plan_offsets(b, options);
  const Status s = verify_offsets(b, 64, p);
  RC_ASSERT(s.ok());
  RC_ASSERT(p.height >= p.lower_bound);
  bool on_top = false, at_bottom = false;
  for (size_t i = 0; i < b.size(); ++i) {
    if (b[i].size == 0 || std::find(low.begin(), low.end(), i) != low.end()) continue;
    on_top |= p.offset[i] + (b[i].size + 63) / 64 * 64 == p.height;
    at_bottom |= p.offset[i] == 0;
  }
  RC_ASSERT(low.empty() || on_top || !at_bottom);
}

}  // namespace
}  // namespace cleave::plan
