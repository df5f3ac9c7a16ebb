// Copies beside the calls, checked by queues that know nothing of the planner.
#include "plan/offload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace cleave::plan {
namespace {

std::vector<int64_t> starts(const OffloadProblem& p) {
  std::vector<int64_t> out{0};
  for (const int64_t ns : p.ns) out.push_back(out.back() + ns);
  return out;
}

bool is_absent(const std::vector<Offload>& offloads, size_t value, int64_t position) {
  return std::ranges::any_of(offloads, [&](const Offload& o) {
    return o.value == value && o.absent_from <= position && position < o.absent_to;
  });
}

int64_t most_alive(const OffloadProblem& p, const std::vector<Offload>& offloads) {
  int64_t most = 0;
  for (int64_t at = 0; at < std::ssize(p.ns); ++at) {
    int64_t alive = 0;
    for (size_t v = 0; v < p.values.size(); ++v) {
      const OffloadValue& value = p.values[v];
      const bool lives =
          value.touches.front() <= at && (at <= value.touches.back() || value.to_the_end);
      if (lives && !is_absent(offloads, v, at)) alive += value.bytes;
    }
    most = std::max(most, alive);
  }
  return most;
}

int64_t copy_ns(const OffloadProblem& p, const Offload& o) {
  return p.ns_per_copy +
         static_cast<int64_t>(static_cast<double>(p.values[o.value].bytes) / p.bytes_per_ns);
}

// Each way a queue that does one copy after the other: none is late.
void expect_in_time(const OffloadProblem& p, std::vector<Offload> offloads) {
  const std::vector<int64_t> start = starts(p);
  const auto at = [&](int64_t position) { return start[static_cast<size_t>(position)]; };
  int64_t out = 0, in = 0;
  for (const Offload& o : offloads) {
    const int64_t touched = p.values[o.value].touches[o.gap];
    EXPECT_GT(o.absent_from, touched);
    EXPECT_LT(o.absent_from, o.absent_to);
    EXPECT_LE(o.absent_to, p.values[o.value].touches[o.gap + 1]);
    out = std::max(out, at(touched + 1)) + copy_ns(p, o);
    EXPECT_LE(out, at(o.absent_from)) << "value " << o.value << " is still being copied out";
  }
  std::ranges::stable_sort(offloads, {}, [&](const Offload& o) {
    return std::pair(o.absent_to, p.values[o.value].touches[o.gap + 1]);
  });
  for (const Offload& o : offloads) {
    in = std::max(in, at(o.absent_to)) + copy_ns(p, o);
    EXPECT_LE(in, at(p.values[o.value].touches[o.gap + 1])) << "value " << o.value << " comes late";
  }
}

// The picture of the header: each copy takes as long as two positions.
TEST(Offload, a_value_is_absent_while_nothing_touches_it) {
  const OffloadProblem p{.ns = {10, 10, 10, 10, 10, 10, 10},
                         .values = {{.bytes = 20, .touches = {0, 6}}, {.bytes = 5, .touches = {3}}},
                         .limit = 20,
                         .bytes_per_ns = 1};
  const auto found = plan_offloads(p);
  ASSERT_TRUE(found.has_value());
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ((*found)[0].absent_from, 3);
  EXPECT_EQ((*found)[0].absent_to, 4);
  expect_in_time(p, *found);
  EXPECT_EQ(most_alive(p, *found), 20);
}

TEST(Offload, what_the_copies_have_no_time_for_stays) {
  OffloadProblem p{.ns = {10, 10, 10, 10, 10},
                   .values = {{.bytes = 20, .touches = {0, 4}}, {.bytes = 5, .touches = {2}}},
                   .limit = 20,
                   .bytes_per_ns = 1};
  EXPECT_FALSE(plan_offloads(p).has_value());
  p.limit = 25;
  ASSERT_TRUE(plan_offloads(p).has_value());
  EXPECT_TRUE(plan_offloads(p)->empty());
}

// A forward whose values are read again in the reverse order.
OffloadProblem random_step(std::mt19937& rng) {
  const auto below = [&](int64_t n) {
    return static_cast<int64_t>(rng() % static_cast<uint64_t>(n));
  };
  OffloadProblem p{.bytes_per_ns = 0.5 + static_cast<double>(below(8)), .ns_per_copy = below(20)};
  const int64_t layers = 4 + below(20);
  for (int64_t k = 0; k < 2 * layers; ++k) p.ns.push_back(1 + below(100));
  for (int64_t k = 0; k < layers; ++k) {
    std::vector<int64_t> touches{k};
    for (int64_t at = k + 1; at < 2 * layers; ++at)
      if (at == 2 * layers - 1 - k || below(12) == 0) touches.push_back(at);
    p.values.push_back({.bytes = 1 + below(100), .touches = touches, .to_the_end = below(8) == 0});
  }
  p.limit = most_alive(p, {}) * (40 + below(60)) / 100;
  return p;
}

TEST(Offload, random_steps_are_within_their_limit_and_wait_for_no_copy) {
  int met = 0, copies = 0;
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    std::mt19937 rng(seed);
    SCOPED_TRACE(seed);
    const OffloadProblem p = random_step(rng);
    const auto found = plan_offloads(p);
    if (!found) continue;
    ++met;
    copies += static_cast<int>(found->size());
    expect_in_time(p, *found);
    EXPECT_LE(most_alive(p, *found), p.limit);
    // Nothing is copied in vain.
    for (size_t k = 0; k < found->size(); ++k) {
      std::vector<Offload> fewer = *found;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(k));
      EXPECT_GT(most_alive(p, fewer), p.limit) << "copy " << k;
    }
  }
  EXPECT_GT(met, 300);
  EXPECT_GT(copies, 500);
}

// A larger limit is met with no more copies.
TEST(Offload, a_larger_limit_is_no_harder) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 rng(seed);
    OffloadProblem p = random_step(rng);
    bool met = false;
    for (const int64_t all = most_alive(p, {}); p.limit <= all;
         p.limit += std::max<int64_t>(1, all / 20)) {
      const bool now = plan_offloads(p).has_value();
      EXPECT_TRUE(now || !met) << "seed " << seed << ", limit " << p.limit;
      met = met || now;
    }
  }
}

}  // namespace
}  // namespace cleave::plan
