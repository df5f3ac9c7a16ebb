// The least height of small problems against brute force, large ones against the validator.
// tests: offsets_best_fit.cpp offsets_core.cpp offsets_fit_tree.cpp offsets_floors.cpp
// tests: offsets_problem.cpp offsets_search.cpp offsets_skyline.cpp
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include "plan/offsets.h"
#include "test/plan/least_height.h"
#include "test/plan/training_buffers.h"

namespace cleave::plan {
namespace {

std::vector<Lifetime> random_buffers(std::mt19937& random, size_t count, int64_t time,
                                     int64_t largest) {
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random()) % n; };
  std::vector<Lifetime> b;
  for (size_t i = 0; i < count; ++i) {
    const int64_t lower = below(time);
    b.push_back({lower, lower + 1 + below(time), 1 + below(largest)});
  }
  return b;
}

TEST(OffsetsOptimal, TinyProblemsReachTheLeastHeight) {
  std::mt19937 random(11);
  for (int i = 0; i < 300; ++i) {
    const std::vector<Lifetime> b = random_buffers(random, 2 + random() % 6, 6, 9);
    const int64_t alignment = i % 3 == 0 ? 4 : 1;
    // A preference that costs memory is ignored.
    OffsetOptions options{.alignment = alignment, .low = {}};
    if (i % 2) options.low = {0, 1};
    const Offsets p = plan_offsets(b, options);
    const int64_t least = min_height(b, alignment);
    ASSERT_EQ(p.height, least) << "problem " << i;
    ASSERT_TRUE(p.optimal) << "problem " << i;
    ASSERT_EQ(p.lower_bound, least) << "problem " << i;
    ASSERT_TRUE(verify_offsets(b, alignment, p).ok()) << "problem " << i;
  }
}

// Eight buffers that need more than is ever alive together (17 against 15), and what becomes of
// them when one number changes: only complete search can prove these.
TEST(OffsetsOptimal, ProofsGoBeyondTheLargestSum) {
  const std::vector<Lifetime> hard = {{6, 10, 5}, {0, 1, 6}, {10, 14, 9}, {6, 8, 3},
                                      {1, 7, 7},  {1, 6, 7}, {8, 12, 6},  {7, 9, 4}};
  std::mt19937 random(15);
  int above_sum = 0;
  for (int i = 0; i < 100; ++i) {
    std::vector<Lifetime> b = hard;
    Lifetime& x = b[random() % b.size()];
    if (i > 0) x.size += static_cast<int64_t>(random() % 3) - 1;
    if (i > 0) x.upper += static_cast<int64_t>(random() % 2);
    const Offsets p = plan_offsets(b, 1);
    const int64_t least = min_height(b, 1);
    ASSERT_EQ(p.height, least) << "problem " << i;
    ASSERT_EQ(p.lower_bound, least) << "problem " << i;
    ASSERT_TRUE(p.optimal && verify_offsets(b, 1, p).ok()) << "problem " << i;
    above_sum += plan_offsets(b, {.search_mops = 0}).lower_bound < least;
  }
  EXPECT_GT(above_sum, 20);
}

TEST(OffsetsOptimal, ACapacityIsReachedOrRefusedByProof) {
  std::mt19937 random(12);
  for (int i = 0; i < 100; ++i) {
    const std::vector<Lifetime> b = random_buffers(random, 6, 6, 9);
    const int64_t least = min_height(b, 1);
    OffsetOptions options;
    options.capacity = least + i % 3;
    EXPECT_LE(plan_offsets(b, options).height, options.capacity);
    options.capacity = least - 1;
    const Offsets p = plan_offsets(b, options);
    EXPECT_EQ(p.height, least);
    EXPECT_TRUE(p.optimal);
  }
}

TEST(OffsetsOptimal, PiecesThatNeverMeetAreSolvedApart) {
  std::mt19937 random(13);
  std::vector<Lifetime> all;
  int64_t least = 0;
  for (int64_t piece = 0; piece < 20; ++piece) {
    std::vector<Lifetime> b = random_buffers(random, 6, 6, 9);
    least = std::max(least, min_height(b, 1));
    for (Lifetime& x : b) x.lower += 100 * piece, x.upper += 100 * piece;
    all.insert(all.end(), b.begin(), b.end());
  }
  const Offsets p = plan_offsets(all, 1);
  EXPECT_EQ(p.height, least);
  EXPECT_TRUE(p.optimal);
}

TEST(OffsetsOptimal, LargePlansAreValidAndTheSameAgain) {
  std::mt19937 random(14);
  for (size_t count : {300u, 3000u, 30000u}) {
    const std::vector<Lifetime> b = random_buffers(random, count, 2000, 100000);
    OffsetOptions options{.alignment = 64, .fit_mops = 100, .search_mops = 10};
    const Offsets p = plan_offsets(b, options), again = plan_offsets(b, options);
    EXPECT_TRUE(verify_offsets(b, 64, p).ok());
    EXPECT_GE(p.height, p.lower_bound);
    EXPECT_EQ(p.offset, again.offset);
  }
}

TEST(OffsetsOptimal, TrainingStepsWasteLittle) {
  for (int64_t count : {400, 4000, 40000}) {
    const std::vector<Lifetime> b = training_buffers(count, 7);
    OffsetOptions options{.search_mops = 10};
    const Offsets p = plan_offsets(b, options);
    EXPECT_TRUE(verify_offsets(b, 1, p).ok());
    EXPECT_LE(static_cast<double>(p.height), 1.005 * static_cast<double>(p.lower_bound)) << count;
  }
}

TEST(OffsetsOptimal, HugeSizesAndTimesDoNotWrap) {
  const int64_t big = int64_t{1} << 60;
  const std::vector<Lifetime> b = {{0, INT64_MAX, big}, {0, 3, big}, {3, INT64_MAX, big}};
  ASSERT_TRUE(check_lifetimes(b, 1).ok());
  EXPECT_EQ(plan_offsets(b, 1).height, 2 * big);
}

TEST(OffsetsOptimal, WrongLifetimesAreRefused) {
  const int64_t big = int64_t{1} << 61;
  EXPECT_FALSE(check_lifetimes({{3, 3, 1}}, 1).ok());
  EXPECT_FALSE(check_lifetimes({{0, 3, -1}}, 1).ok());
  EXPECT_FALSE(check_lifetimes({{0, 3, 1}}, 0).ok());
  EXPECT_FALSE(check_lifetimes({{INT64_MIN, INT64_MAX, 1}}, 1).ok());
  EXPECT_FALSE(check_lifetimes({{0, 1, big}, {0, 1, big}}, 1).ok());
  EXPECT_FALSE(check_lifetimes({{0, 1, 1}, {0, 1, 1}, {5, 6, 1}}, big - 1).ok());
}

// Empty where the file is missing.
std::vector<Lifetime> public_problem(const std::string& name) {
  std::ifstream in(std::filesystem::path(CLEAVE_SOURCE_DIR) / "../shared/data/plan" / name);
  std::string line;
  std::getline(in, line);
  std::vector<Lifetime> b;
  int64_t id = 0;
  char comma = 0;
  for (Lifetime x; in >> id >> comma >> x.lower >> comma >> x.upper >> comma >> x.size;)
    b.push_back(x);
  return b;
}

TEST(OffsetsOptimal, PublicProblemsReachTheirCapacity) {
  for (char c = 'A'; c <= 'F'; ++c) {
    const std::string name = std::string(1, c) + ".1048576.csv";
    const std::vector<Lifetime> b = public_problem(name);
    if (b.empty()) GTEST_SKIP() << name << " is missing";
    const Offsets p = plan_offsets(b, {.capacity = 1048576, .search_mops = 500});
    EXPECT_LE(p.height, 1048576) << name;
    EXPECT_TRUE(verify_offsets(b, 1, p).ok()) << name;
  }
}

TEST(OffsetsOptimal, PublicTrainingStepsReachTheirBounds) {
  struct Case {
    const char* name;
    size_t buffers;
    int64_t bound;
  };
  for (const Case& c :
       {Case{"resnet50.csv", 1042, 1515472556}, Case{"pangu_2.6B.csv", 18692, 5530099775}}) {
    const std::vector<Lifetime> b = public_problem(c.name);
    if (b.empty()) GTEST_SKIP() << c.name << " is missing";
    ASSERT_EQ(b.size(), c.buffers);
    const Offsets p = plan_offsets(b, OffsetOptions{});
    EXPECT_EQ(p.lower_bound, c.bound);
    EXPECT_EQ(p.height, c.bound);
    EXPECT_TRUE(verify_offsets(b, 1, p).ok());
  }
}

}  // namespace
}  // namespace cleave::plan
