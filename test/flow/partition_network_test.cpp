// The partition's network against the meaning of save and recompute, simulated.
// tests: forward_graph.cpp
#include "flow/partition_network.h"

#include <algorithm>

#include "test/flow/every_choice.h"

namespace cleave::flow {
namespace {

using test::between;
using test::Choice;
using test::every_choice;
using test::random_forward_graph;

size_t index(int32_t i) { return static_cast<size_t>(i); }

// What the backward costs if exactly these values are saved: it uses a saved value, else runs the
// value's call again, once, after all calls that it reads. False if that isn't possible.
bool simulate(const ForwardGraph& g, uint32_t saved, Choice& paid) {
  paid = {};
  std::vector<uint8_t> ran(g.cost.size());
  std::vector<int32_t> call_of(g.bytes.size(), -1), wanted;
  for (int32_t n = 0; n < g.calls(); ++n)
    for (int32_t v = g.result_begin[index(n)]; v < g.result_begin[index(n) + 1]; ++v)
      call_of[index(v)] = n;
  for (int32_t v = 0; v < g.values(); ++v) {
    if (g.needed[index(v)]) wanted.push_back(v);
    if (!(saved >> v & 1)) continue;
    if (g.unsavable[index(v)]) return false;
    paid.bytes += g.bytes[index(v)];
  }
  while (!wanted.empty()) {
    const int32_t v = wanted.back(), n = call_of[index(v)];
    wanted.pop_back();
    if (saved >> v & 1) continue;
    if (n < 0 || g.pinned[index(n)]) return false;
    if (std::exchange(ran[index(n)], uint8_t{1})) continue;
    paid.cost += g.cost[index(n)];
    for (int32_t k = g.operand_begin[index(n)]; k < g.operand_begin[index(n) + 1]; ++k)
      wanted.push_back(g.operand[index(k)]);
  }
  return true;
}

constexpr Price prices[] = {{0, 1}, {1, 5}, {2, 3}, {1, 1}, {7, 4}, {9, 1}, {1, 0}};

TEST(PartitionNetwork, IsTheDefinition) {
  std::mt19937_64 random(1);
  int possible = 0;
  for (int k = 0; k < 1000; ++k) {
    const ForwardGraph g = random_forward_graph(random, 7, 1, 1);
    std::vector<Choice> all;
    Choice paid;
    for (uint32_t saved = 0; saved < 1u << g.values(); ++saved)
      if (simulate(g, saved, paid)) all.push_back(paid);
    ASSERT_EQ(build_partition_network(g).ok(), !all.empty());
    if (all.empty()) continue;
    ++possible;
    for (const Price& p : prices) {
      auto total = [&](const auto& c) { return p.bytes * c.cost + p.cost * c.bytes; };
      int64_t least = std::numeric_limits<int64_t>::max();
      for (const Choice& c : all) least = std::min(least, total(c));
      for (Nearest nearest : {Nearest::source, Nearest::sink}) {
        const PartitionChoice got = value_or_throw(cut_partition(g, p, nearest));
        ASSERT_EQ(total(got), least) << "price " << p.cost << " / " << p.bytes;
        uint32_t saved = 0;
        for (size_t v = 0; v < got.save.size(); ++v) saved |= uint32_t{got.save[v]} << v;
        ASSERT_TRUE(simulate(g, saved, paid));
        ASSERT_EQ(paid.bytes, got.bytes);
        ASSERT_LE(paid.cost, got.cost);  // less if a call is recomputed needlessly at no cost
        ASSERT_EQ(total(paid), least);
      }
    }
  }
  EXPECT_GT(possible, 500);
}

TEST(PartitionNetwork, OfEqualChoicesTakesTheOneThatRecomputesMostOrLeast) {
  std::mt19937_64 random(2);
  for (int k = 0; k < 1000; ++k) {
    const ForwardGraph g = random_forward_graph(random, 9, 3, 1);
    const std::vector<Choice> all = every_choice(g);
    ASSERT_EQ(build_partition_network(g).ok(), !all.empty());
    for (const Price& p : prices) {
      if (all.empty() || p.bytes == 0) continue;
      auto total = [&](const auto& c) { return p.bytes * c.cost + p.cost * c.bytes; };
      int64_t least = std::numeric_limits<int64_t>::max();
      for (const Choice& c : all) least = std::min(least, total(c));
      uint64_t common = ~uint64_t{0};
      for (const Choice& c : all)
        if (total(c) == least) common &= c.recompute;
      uint64_t got = 0;
      const PartitionChoice fewest = value_or_throw(cut_partition(g, p, Nearest::sink));
      for (size_t n = 0; n < fewest.recompute.size(); ++n)
        got |= uint64_t{fewest.recompute[n]} << n;
      ASSERT_EQ(got, common);
      const PartitionChoice most = value_or_throw(cut_partition(g, p, Nearest::source));
      ASSERT_EQ(total(most), least);
      for (size_t n = 0; n < most.recompute.size(); ++n)
        ASSERT_LE(fewest.recompute[n], most.recompute[n]);
      if (p.cost > 0) { ASSERT_LE(most.bytes, fewest.bytes); }
    }
  }
}

TEST(PartitionNetwork, NamesTheValuesOfAConflict) {
  std::mt19937_64 random(3);
  int conflicts = 0;
  for (int k = 0; k < 3000; ++k) {
    ForwardGraph g = random_forward_graph(random, 8, 2, 1);
    for (uint8_t& u : g.unsavable) u = u || between(random, 0, 2) == 0;
    const auto path = find_conflict(g);
    ASSERT_EQ(path.has_value(), every_choice(g).empty());
    ASSERT_EQ(path.has_value(), !build_partition_network(g).ok());
    if (!path) continue;
    ++conflicts;
    EXPECT_TRUE(g.needed[index(path->back())]);
    for (size_t i = 0; i < path->size(); ++i) {
      const int32_t v = (*path)[i];
      ASSERT_TRUE(g.unsavable[index(v)]);
      const auto call = std::upper_bound(g.result_begin.begin(), g.result_begin.end(), v) - 1;
      const auto n = static_cast<size_t>(call - g.result_begin.begin());
      if (i == 0) {
        ASSERT_TRUE(v < g.placeholders || g.pinned[n]);
        continue;
      }
      const auto begin = g.operand.begin() + g.operand_begin[n];
      const auto end = g.operand.begin() + g.operand_begin[n + 1];
      ASSERT_NE(std::find(begin, end, (*path)[i - 1]), end);
    }
  }
  EXPECT_GT(conflicts, 100);
}

// cos(x) -> view -> mm; the backward reads the view.
ForwardGraph small_graph() {
  ForwardGraph g;
  g.placeholders = 1;
  g.result_begin = {1, 2, 3};
  g.operand_begin = {0, 1, 2};
  g.operand = {0, 1};
  g.cost = {10, 0};
  g.pinned = {0, 0};
  g.bytes = {0, 100, 100};
  g.needed = {0, 0, 1};
  g.unsavable = {0, 0, 1};
  return g;
}

TEST(PartitionNetwork, AViewIsSavedByItsBase) {
  const ForwardGraph g = small_graph();
  const PartitionChoice dear = value_or_throw(cut_partition(g, {1, 1}, Nearest::sink));
  EXPECT_EQ(dear.save, (std::vector<uint8_t>{1, 0, 0}));
  EXPECT_EQ(dear.cost, 10);
  const PartitionChoice cheap = value_or_throw(cut_partition(g, {1, 100}, Nearest::sink));
  EXPECT_EQ(cheap.save, (std::vector<uint8_t>{0, 1, 0}));
  EXPECT_EQ(cheap.bytes, 100);
}

TEST(PartitionNetwork, SaysWhatIsWrong) {
  auto message = [](const ForwardGraph& g) {
    const auto net = build_partition_network(g);
    return net.ok() ? "" : net.failure().message;
  };
  ForwardGraph g = small_graph();
  g.pinned[1] = 1;
  EXPECT_EQ(message(g),
            "flow: value 2 is needed, but can neither be saved nor recomputed from saved values; "
            "unsavable, each made from the one before: 2");
  g = small_graph();
  g.pinned[0] = g.unsavable[1] = 1;
  EXPECT_EQ(message(g),
            "flow: value 2 is needed, but can neither be saved nor recomputed from saved values; "
            "unsavable, each made from the one before: 1, 2");
  g = small_graph();
  g.operand[1] = 2;
  EXPECT_EQ(message(g), "flow: call 1 reads value 2, expected one before its results: [0, 2)");
  g = small_graph();
  g.cost[0] = -1;
  EXPECT_EQ(message(g), "flow: call 0 costs -1: expected at least 0 and a sum below 2^59");
  g = small_graph();
  g.bytes[1] = int64_t{1} << 59;
  EXPECT_EQ(message(g),
            "flow: value 1 takes 576460752303423488 bytes: expected at least 0 and a sum below "
            "2^59");
  g = small_graph();
  g.result_begin[1] = 3;
  g.result_begin[2] = 2;
  EXPECT_EQ(message(g), "flow: result_begin: expected 3 rising numbers from 1 to 3");
  g = small_graph();
  g.needed.pop_back();
  EXPECT_EQ(message(g), "flow: 2 calls and 3 values, but 2 pinned, 2 needed, 3 unsavable");
  const auto cut = cut_partition(small_graph(), {0, 0}, Nearest::sink);
  ASSERT_FALSE(cut.ok());
  EXPECT_EQ(cut.failure().message,
            "flow: price 0 / 0: expected two numbers in [0, 2^60), not both 0");
}

}  // namespace
}  // namespace cleave::flow
