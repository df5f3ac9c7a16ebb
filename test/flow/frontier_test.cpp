// The frontier against all choices for small graphs, and on large graphs with a known answer.
// tests: partition_frontier.cpp
// tests: trade_network.cpp
#include "flow/partition_frontier.h"

#include <algorithm>
#include <numeric>

#include "flow/search_trees.h"
#include "test/flow/every_choice.h"

namespace cleave::flow {
namespace {

using test::Choice;
using test::every_choice;
using test::random_forward_graph;

// The corners of the lower convex hull, from the cheapest in cost on.
std::vector<Choice> hull_of(std::vector<Choice> points) {
  std::sort(points.begin(), points.end(), [](const Choice& a, const Choice& b) {
    return std::pair{a.cost, a.bytes} < std::pair{b.cost, b.bytes};
  });
  std::vector<Choice> hull;
  for (const Choice& p : points) {
    if (!hull.empty() && p.bytes >= hull.back().bytes) continue;
    // The last corner is removed if it isn't below the line from the one before it to p.
    while (hull.size() > 1) {
      const Choice &a = hull[hull.size() - 2], &b = hull.back();
      if (int128{b.cost - a.cost} * (a.bytes - p.bytes) <
          int128{p.cost - a.cost} * (a.bytes - b.bytes))
        break;
      hull.pop_back();
    }
    hull.push_back(p);
  }
  return hull;
}

void expect_frontier(const ForwardGraph& g) {
  const std::vector<Choice> all = every_choice(g);
  auto made = PartitionFrontier::make(g);
  ASSERT_EQ(made.ok(), !all.empty());
  if (all.empty()) return;
  const PartitionFrontier frontier = *std::move(made);
  const std::vector<Choice> hull = hull_of(all);
  ASSERT_EQ(frontier.corners().size(), hull.size());
  for (size_t k = 0; k < hull.size(); ++k) {
    const PartitionFrontier::Corner& corner = frontier.corners()[k];
    ASSERT_EQ(corner.bytes, hull[k].bytes);
    ASSERT_EQ(corner.cost, hull[k].cost);
    const PartitionChoice choice = choice_of(g, frontier.recompute_at(k));
    ASSERT_EQ(choice.bytes, hull[k].bytes);
    ASSERT_EQ(choice.cost, hull[k].cost);
    for (size_t v = 0; v < choice.save.size(); ++v) ASSERT_FALSE(choice.save[v] && g.unsavable[v]);
    for (size_t n = 0; n < choice.recompute.size(); ++n)
      ASSERT_FALSE(choice.recompute[n] && g.pinned[n]);
    if (k > 0) {  // the price at which this corner and the one before are equally good
      ASSERT_EQ(int128{corner.price.bytes} * (hull[k].cost - hull[k - 1].cost),
                int128{corner.price.cost} * (hull[k - 1].bytes - hull[k].bytes));
      ASSERT_EQ(std::gcd(corner.price.cost, corner.price.bytes), 1);
    }
  }
  for (const Choice& c : all) {
    const auto bound = frontier.min_cost(c.bytes);
    ASSERT_TRUE(bound.has_value());
    ASSERT_LE(*bound, c.cost);
  }
  for (const Choice& c : hull) ASSERT_EQ(frontier.min_cost(c.bytes), c.cost);
  ASSERT_EQ(frontier.min_cost(hull.back().bytes - 1), std::nullopt);
}

TEST(Frontier, IsTheHullOfAllChoices) {
  std::mt19937_64 random(1);
  for (int k = 0; k < 10000 && !HasFatalFailure(); ++k)
    expect_frontier(random_forward_graph(random, k % 10 == 0 ? 14 : 9, 2, k % 2 ? 1 : 1000));
}

TEST(Frontier, IsExactBeyond64Bits) {
  std::mt19937_64 random(2);
  for (int k = 0; k < 2000 && !HasFatalFailure(); ++k)
    expect_frontier(random_forward_graph(random, 9, 2, int64_t{1} << (k % 2 ? 50 : 30)));
}

// At a corner's price, it and the corner before are the two extreme minimum cuts.
TEST(Frontier, AgreesWithTheCutAtEachPrice) {
  std::mt19937_64 random(3);
  for (int k = 0; k < 300; ++k) {
    const ForwardGraph g = random_forward_graph(random, 20, 3, k % 2 ? 1 : 1000);
    auto made = PartitionFrontier::make(g);
    if (!made.ok()) continue;
    for (size_t c = 1; c < made->corners().size(); ++c) {
      const PartitionFrontier::Corner &corner = made->corners()[c],
                                      &before = made->corners()[c - 1];
      const PartitionChoice most = value_or_throw(cut_partition(g, corner.price, Nearest::source));
      ASSERT_EQ(most.bytes, corner.bytes);
      ASSERT_EQ(most.cost, corner.cost);
      const PartitionChoice least = value_or_throw(cut_partition(g, corner.price, Nearest::sink));
      ASSERT_EQ(least.bytes, before.bytes);
      ASSERT_EQ(least.cost, before.cost);
    }
  }
}

// Each link reads the value of the last one through three calls; the backward reads the last value:
// it is saved, or everything is recomputed.
TEST(Frontier, OfALongChainIsFoundInTime) {
  constexpr int32_t links = 25000;
  ForwardGraph g;
  g.placeholders = 1;
  g.result_begin = {1};
  auto call = [&](std::vector<int32_t> reads, int64_t cost) {
    g.operand.insert(g.operand.end(), reads.begin(), reads.end());
    g.operand_begin.push_back(static_cast<int32_t>(g.operand.size()));
    g.cost.push_back(cost);
    g.pinned.push_back(0);
    g.result_begin.push_back(g.result_begin.back() + 1);
    return g.result_begin[g.cost.size() - 1];
  };
  for (int32_t k = 0, at = 0; k < links; ++k) {
    const int32_t a = call({at}, 1), b = call({at}, 2), c = call({at}, 3);
    at = call({a, b, c}, 1);
  }
  g.bytes.assign(4 * links + 1, 1 << 20);
  g.needed.assign(4 * links + 1, 0);
  g.unsavable.assign(4 * links + 1, 0);
  g.bytes[0] = 0;
  g.needed.back() = 1;
  const PartitionFrontier frontier = value_or_throw(PartitionFrontier::make(g));
  ASSERT_EQ(frontier.corners().size(), 2u);
  EXPECT_EQ(frontier.corners()[1].bytes, 0);
  EXPECT_EQ(frontier.corners()[1].cost, 7 * links);
  g.needed.assign(4 * links + 1, 1);
  g.bytes[links] = 1;
  const PartitionFrontier all_needed = value_or_throw(PartitionFrontier::make(g));
  EXPECT_EQ(all_needed.corners().front().cost, 0);
  EXPECT_EQ(all_needed.corners().back().bytes, 0);
  EXPECT_EQ(all_needed.corners().back().cost, 7 * links);
  EXPECT_EQ(all_needed.corners().size(), 5u);  // prices 1, 2, 3 a MiB, and of the one small value
}

TEST(Frontier, OfNothingIsOneCorner) {
  const PartitionFrontier frontier = value_or_throw(PartitionFrontier::make({}));
  ASSERT_EQ(frontier.corners().size(), 1u);
  EXPECT_EQ(frontier.min_cost(0), 0);
  EXPECT_EQ(frontier.min_cost(-1), std::nullopt);
}

}  // namespace
}  // namespace cleave::flow
