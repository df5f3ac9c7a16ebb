// Problems that are full at many moments: joined buffers and the search, against brute force and
// where the optimum is known.
// tests: offsets_alive.cpp offsets_border.cpp offsets_join.cpp
#include <gtest/gtest.h>

#include <algorithm>

#include "plan/offsets_join.h"
#include "test/plan/least_height.h"
#include "test/plan/tight_buffers.h"

namespace cleave::plan {
namespace {

// Some random buffers, and for most moments one that fills it up to the largest sum: at most nine.
std::vector<Lifetime> full_buffers(SplitMix& random) {
  const uint32_t moments = 4 + random.below(3);
  std::vector<Lifetime> b;
  std::vector<int64_t> total(moments);
  for (uint32_t i = 5 + random.below(2); i > 0; --i) {
    const uint32_t lower = random.below(moments);
    const uint32_t upper = lower + 1 + random.below(std::min(3u, moments - lower));
    b.push_back({lower, upper, 1 + random.below(6)});
    for (uint32_t t = lower; t < upper; ++t) total[t] += b.back().size;
  }
  const int64_t capacity = *std::max_element(total.begin(), total.end());
  for (uint32_t t = 0; t < moments && b.size() < 9; ++t)
    if (total[t] < capacity && random.below(4) > 0) b.push_back({t, t + 1, capacity - total[t]});
  return b;
}

// The first `count` of each kind: those that fit their largest sum, and those that don't; by the
// planner, whose word is checked by brute force.
std::vector<std::vector<Lifetime>> full_problems(uint64_t seed, size_t count) {
  SplitMix random(seed);
  std::vector<std::vector<Lifetime>> fit, too_high;
  for (int draws = 0; draws < 100000 && fit.size() + too_high.size() < 2 * count; ++draws) {
    std::vector<Lifetime> b = full_buffers(random);
    const Offsets p = plan_offsets(b, 1);
    auto& kind = p.height == largest_alive(b, 1) ? fit : too_high;
    if (kind.size() < count) kind.push_back(std::move(b));
  }
  fit.insert(fit.end(), too_high.begin(), too_high.end());
  return fit;
}

std::vector<Lifetime> lifetimes_of(const OffsetProblem& p) {
  std::vector<Lifetime> out;
  for (const OffsetProblem::Buffer& b : p.buffers) out.push_back({b.first, b.last, b.size});
  return out;
}

TEST(OffsetsTight, FullMomentsAreSolvedOrRefuted) {
  const std::vector<std::vector<Lifetime>> problems = full_problems(2, 12);
  ASSERT_EQ(problems.size(), 24u);
  for (const std::vector<Lifetime>& b : problems) {
    const Offsets p = plan_offsets(b, 1);
    const int64_t least = min_height(b, 1);
    ASSERT_EQ(p.height, least);
    ASSERT_EQ(p.lower_bound, least);
    ASSERT_TRUE(verify_offsets(b, 1, p).ok());
  }
}

TEST(OffsetsTight, JoinedBuffersFitWhereTheyFitApart) {
  int fewer = 0, too_high = 0;
  for (const std::vector<Lifetime>& b : full_problems(1, 12)) {
    const OffsetProblem p = make_offset_problem(b, 1);
    const JoinedProblem joined = join_buffers(p, p.bound);
    const int64_t capacity = p.bound / joined.problem.unit;
    const bool fits = min_height(lifetimes_of(p), 1) <= p.bound;
    const std::vector<Lifetime> blocks = lifetimes_of(joined.problem);
    ASSERT_EQ(min_height(blocks, 1) <= capacity, fits);
    fewer += joined.problem.size() < p.size();
    too_high += !fits;
    Offsets spread{joined.spread(plan_offsets(blocks, 1).offset), 0, 0, false};
    spread.height = height_of(p, spread.offset);
    EXPECT_TRUE(verify_offsets(lifetimes_of(p), 1, spread).ok());
    EXPECT_EQ(spread.height <= p.bound, fits);
  }
  EXPECT_GT(fewer, 8);
  EXPECT_EQ(too_high, 12);
}

TEST(OffsetsTight, PiecesOfARectangleFillItAgain) {
  for (const TightBuffers& kind :
       {TightBuffers{.count = 300}, TightBuffers{.count = 300, .pinwheels = 30},
        TightBuffers{.count = 150, .gaps = 20, .pinwheels = 10}}) {
    const std::vector<Lifetime> b = TightSplit(kind, 5).buffers();
    const Offsets p = plan_offsets(b, {.capacity = TightSplit::capacity, .search_mops = 500});
    EXPECT_LE(p.height, TightSplit::capacity) << kind.count << " " << kind.gaps;
    EXPECT_TRUE(verify_offsets(b, 1, p).ok());
  }
}

}  // namespace
}  // namespace cleave::plan
