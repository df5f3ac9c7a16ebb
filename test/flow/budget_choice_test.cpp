// The cheapest choice within a budget, against every choice.
#include "flow/budget_choice.h"

#include <map>

#include "test/flow/every_choice.h"

namespace cleave::flow {
namespace {

using test::Choice;
using test::every_choice;
using test::random_forward_graph;

TEST(BudgetChoice, EqualsEveryChoice) {
  std::mt19937_64 random(7);
  int budgets = 0, proven = 0;
  for (int k = 0; k < 400; ++k) {
    const ForwardGraph g = random_forward_graph(random, 9, 2, k % 2 ? 1 : 50);
    const std::vector<Choice> all = every_choice(g);
    if (all.empty()) continue;
    std::map<int64_t, int64_t> least;  // cost by bytes
    for (const Choice& c : all) {
      const auto [it, added] = least.emplace(c.bytes, c.cost);
      if (!added) it->second = std::min(it->second, c.cost);
    }
    int64_t best = std::numeric_limits<int64_t>::max();
    for (const auto& [bytes, cost] : least) {
      best = std::min(best, cost);
      const auto found = value_or_throw(choose_within(g, bytes, 500));
      ASSERT_TRUE(found) << k;
      EXPECT_LE(found->choice.bytes, bytes);
      EXPECT_LE(found->min_cost, best) << k;
      EXPECT_GE(found->choice.cost, best) << k;
      ++budgets;
      if (!found->optimal) continue;
      ++proven;
      EXPECT_EQ(found->choice.cost, best) << k;
    }
    if (least.begin()->first > 0) {
      EXPECT_FALSE(value_or_throw(choose_within(g, least.begin()->first - 1, 500)));
    }
  }
  EXPECT_GT(budgets, 1000);
  EXPECT_GT(proven, budgets * 9 / 10);
}

// Ten equal layers have the same price: the frontier has two corners, and the points between are on
// the chord.
TEST(BudgetChoice, EqualPartsLieOnTheChord) {
  ForwardGraph g;
  g.placeholders = 1;
  g.bytes = {0};
  g.needed = {0};
  g.unsavable = {0};
  g.result_begin = {1};
  for (int n = 0; n < 10; ++n) {
    g.operand.push_back(0);
    g.operand_begin.push_back(n + 1);
    g.cost.push_back(3);
    g.pinned.push_back(0);
    g.bytes.push_back(5);
    g.needed.push_back(1);
    g.unsavable.push_back(0);
    g.result_begin.push_back(n + 2);
  }
  const PartitionFrontier frontier = value_or_throw(PartitionFrontier::make(g));
  ASSERT_EQ(frontier.corners().size(), 2u);
  const auto between = points_between(g, frontier, 0);
  ASSERT_EQ(between.size(), 9u);
  for (size_t k = 0; k < between.size(); ++k) {
    const PartitionChoice c = choice_of(g, between[k]);
    EXPECT_EQ(c.bytes, 50 - 5 * static_cast<int64_t>(k + 1));
    EXPECT_EQ(c.cost, 3 * static_cast<int64_t>(k + 1));
  }
}

}  // namespace
}  // namespace cleave::flow
