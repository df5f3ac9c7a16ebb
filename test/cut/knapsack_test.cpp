#include "cut/knapsack.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace cleave {
namespace {

using Set = std::vector<size_t>;

constexpr KnapsackSolver all_solvers[] = {KnapsackSolver::dp, KnapsackSolver::greedy,
                                          KnapsackSolver::ilp};

std::vector<KnapsackItem> items(const std::vector<int64_t>& memory,
                                const std::vector<int64_t>& value) {
  std::vector<KnapsackItem> out;
  for (size_t i = 0; i < memory.size(); ++i) out.push_back({memory[i], value[i]});
  return out;
}

// Tries all subsets: the largest value; of equally good ones the one that leaves out later items.
Knapsack by_force(const std::vector<KnapsackItem>& all, int64_t capacity) {
  Knapsack best;
  uint32_t best_mask = 0;
  for (uint32_t mask = 0; mask < (1u << all.size()); ++mask) {
    int64_t memory = 0, value = 0;
    bool wanted = true;
    for (size_t i = 0; i < all.size(); ++i)
      if (mask >> i & 1) {
        memory += all[i].memory;
        value += all[i].value;
        wanted = wanted && all[i].value > 0;
      }
    if (!wanted || memory > capacity || value < best.value) continue;
    if (value > best.value || mask < best_mask) {
      best.memory = memory;
      best.value = value;
      best_mask = mask;
    }
  }
  for (size_t i = 0; i < all.size(); ++i)
    if (best_mask >> i & 1) best.kept.push_back(i);
  return best;
}

struct Row {
  const char* id;
  std::vector<int64_t> memory, value;
  int64_t capacity, best;
  Set kept;
};

// In K8 memory and capacity are doubled to be integers.
const Row rows[] = {
    {"K0", {2, 3, 2, 4, 1}, {1, 2, 1, 3, 2}, 5, 5, {3, 4}},
    {"K2", {10, 20, 30}, {1, 2, 3}, 5, 0, {}},
    {"K4", {1, 1, 1}, {2, 2, 2}, 2, 4, {0, 1}},
    {"K5", {0, 2, 3}, {5, 2, 3}, 5, 10, {0, 1, 2}},
    {"K7", {100, 200, 300}, {1000, 2000, 3000}, 500, 5000, {1, 2}},
    {"K8", {1, 3, 4}, {1, 2, 3}, 4, 3, {0, 1}},
    {"K11", {0, 0, 0}, {1, 2, 3}, 0, 6, {0, 1, 2}},
    {"K12", {1, 2, 3}, {0, 0, 0}, 6, 0, {}},
};

TEST(Knapsack, rows_of_the_table) {
  for (const Row& r : rows)
    for (KnapsackSolver s : {KnapsackSolver::dp, KnapsackSolver::ilp}) {
      const Knapsack k = value_or_throw(solve_knapsack(items(r.memory, r.value), r.capacity, 1, s));
      EXPECT_EQ(k.value, r.best) << r.id;
      EXPECT_EQ(k.kept, r.kept) << r.id;
    }
}

// A quantum is 1e-4 of the range.
TEST(Knapsack, where_rounding_misleads) {
  for (KnapsackSolver s : {KnapsackSolver::dp, KnapsackSolver::ilp}) {
    EXPECT_EQ(value_or_throw(solve_knapsack(items({1, 1}, {6, 9}), 1, 10'000, s)).kept, (Set{1}));
    EXPECT_EQ(value_or_throw(solve_knapsack(items({3'000, 1, 3'000},
                                                  {10'000'000'000'000, 1, 10'000'000'000'000}),
                                            10'000, 10'000, s))
                  .kept,
              (Set{0, 1, 2}));
    // 20,000 items of 4e-5 of the range: each rounds to 0 quanta, together they are 0.8 of the
    // range.
    const std::vector<KnapsackItem> small(20'000, KnapsackItem{4, 1});
    const Knapsack half = value_or_throw(solve_knapsack(small, 40'000, 100'000, s));
    EXPECT_LE(half.memory, 40'000);
    EXPECT_GE(half.value, s == KnapsackSolver::ilp ? 10'000 : 4'000);
  }
}

// PyTorch's table has f32 values, in which 2^25 + 1 is 2^25; the exact solver keeps both items.
TEST(Knapsack, dp_loses_a_value_of_one_beside_large_ones) {
  const auto kept = [](int64_t large, KnapsackSolver s) {
    return value_or_throw(solve_knapsack(items({10, 1, 15}, {large, 1, 2}), 20, 26, s)).kept;
  };
  EXPECT_EQ(kept(1 << 25, KnapsackSolver::dp), (Set{0}));
  EXPECT_EQ(kept(1 << 20, KnapsackSolver::dp), (Set{0, 1}));
  EXPECT_EQ(kept(1 << 25, KnapsackSolver::ilp), (Set{0, 1}));
}

TEST(Knapsack, greedy_takes_the_densest_that_fits) {
  const Knapsack k =
      value_or_throw(solve_knapsack(items({4, 3, 2}, {8, 5, 2}), 6, 1, KnapsackSolver::greedy));
  EXPECT_EQ(k.kept, (Set{0, 2}));
  EXPECT_EQ(k.value, 10);
}

TEST(Knapsack, errors) {
  const auto message = [](const std::vector<KnapsackItem>& x, int64_t capacity, int64_t range) {
    const auto k = solve_knapsack(x, capacity, range, KnapsackSolver::dp);
    return k.ok() ? "" : k.failure().message;
  };
  EXPECT_EQ(message({{-1, 2}}, 1, 1),
            "knapsack: an item of memory -1 and value 2, expected neither negative");
  EXPECT_EQ(message({{1, 2}}, -1, 1),
            "knapsack: capacity -1 of range 1, expected at least 0 and 1");
  EXPECT_EQ(message({{1, 2}}, 1, 0), "knapsack: capacity 1 of range 0, expected at least 0 and 1");
  EXPECT_EQ(message({{int64_t{1} << 61, 1}, {int64_t{1} << 61, 1}}, 1, 1),
            "knapsack: memory or value sums to 2^62 or more");
}

RC_GTEST_PROP(Knapsack, as_by_force, (const std::vector<uint8_t>& bytes, uint8_t room)) {
  std::vector<KnapsackItem> all;
  for (size_t i = 0; i + 1 < bytes.size() && all.size() < 10; i += 2)
    all.push_back({bytes[i] % 24, bytes[i + 1] % 12});
  const int64_t capacity = room % 100;
  const Knapsack want = by_force(all, capacity);
  const Knapsack exact = value_or_throw(solve_knapsack(all, capacity, 100, KnapsackSolver::ilp));
  RC_ASSERT(exact.value == want.value);
  RC_ASSERT(exact.memory <= capacity);
  // One unit is a hundred quanta, so that nothing is rounded.
  const Knapsack dp = value_or_throw(solve_knapsack(all, capacity, 100, KnapsackSolver::dp));
  RC_ASSERT(dp.kept == want.kept);
  for (KnapsackSolver s : all_solvers) {
    // Here 13 units are one quantum.
    const Knapsack coarse = value_or_throw(solve_knapsack(all, capacity, 130'000, s));
    RC_ASSERT(coarse.memory <= capacity);
    RC_ASSERT(coarse.value <= want.value);
  }
}

}  // namespace
}  // namespace cleave
