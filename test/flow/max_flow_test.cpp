// Both solvers against all cuts of small networks, against each other, and after changes.
// tests: search_trees.cpp settle_flow.cpp verify_flow.cpp infinite_path.cpp network.cpp
#include "flow/max_flow.h"

#include <algorithm>

#include "flow/infinite_path.h"
#include "flow/verify_flow.h"
#include "test/flow/dinic.h"
#include "test/flow/every_cut.h"

namespace cleave::flow {
namespace {

using test::between;
using test::EveryCut;
using test::random_network;
using test::try_every_cut;

template <class Solver>
void expect_answer(Solver& solver, const EveryCut& want) {
  const Status solved = solver.solve();
  ASSERT_EQ(solved.ok(), want.finite);
  if (!want.finite) return;
  EXPECT_EQ(solver.value(), want.value);
  EXPECT_EQ(solver.source_side(Nearest::source), want.fewest);
  EXPECT_EQ(solver.source_side(Nearest::sink), want.most);
  const Flow flow = solver.flow();
  for (Nearest nearest : {Nearest::source, Nearest::sink}) {
    const Status right = verify_flow(solver.network(), flow, solver.source_side(nearest), nearest);
    EXPECT_TRUE(right.ok()) << (right.ok() ? "" : right.failure().message);
  }
}

template <class Solver>
class Solvers : public testing::Test {};
using Both = testing::Types<MaxFlow, Dinic>;
TYPED_TEST_SUITE(Solvers, Both);

TYPED_TEST(Solvers, FindTheBestOfAllCuts) {
  std::mt19937_64 random(1);
  int finite = 0;
  for (int k = 0; k < 3000 && !this->HasFailure(); ++k) {
    const Network net = random_network(random, 8);
    const EveryCut want = try_every_cut(net);
    finite += want.finite;
    TypeParam solver = value_or_throw(TypeParam::make(net));
    expect_answer(solver, want);
  }
  EXPECT_GT(finite, 1000);
  EXPECT_LT(finite, 2900);
}

TYPED_TEST(Solvers, FindThemAgainAfterChanges) {
  std::mt19937_64 random(2);
  for (int k = 0; k < 300 && !this->HasFailure(); ++k) {
    Network net = random_network(random, 7);
    TypeParam solver = value_or_throw(TypeParam::make(net));
    for (int round = 0; round < 8; ++round) {
      for (int64_t changes = between(random, 0, 4); changes > 0; --changes) {
        const Capacity c = test::random_capacity(random, 12);
        const auto n = static_cast<int32_t>(between(random, 0, net.nodes() - 1));
        const auto a = static_cast<int32_t>(
            between(random, 0, std::max<int64_t>(0, std::ssize(net.arcs) - 1)));
        switch (between(random, 0, 2)) {
          case 0:
            ASSERT_TRUE(solver.set_source(n, c).ok());
            net.source[static_cast<size_t>(n)] = c;
            break;
          case 1:
            ASSERT_TRUE(solver.set_sink(n, c).ok());
            net.sink[static_cast<size_t>(n)] = c;
            break;
          case 2:
            if (net.arcs.empty()) break;
            ASSERT_TRUE(solver.set_arc(a, c).ok());
            net.arcs[static_cast<size_t>(a)].capacity = c;
        }
      }
      expect_answer(solver, try_every_cut(net));
    }
  }
}

TYPED_TEST(Solvers, RefuseWhatCouldWrap) {
  Network net(2);
  net.source = {finite_limit / 2, 0};
  net.sink = {0, finite_limit / 4};
  net.arcs = {{0, 1, finite_limit / 4 - 1}};
  TypeParam solver = value_or_throw(TypeParam::make(net));
  ASSERT_TRUE(solver.solve().ok());
  EXPECT_EQ(solver.value(), finite_limit / 4 - 1);
  net.arcs[0].capacity += 1;
  EXPECT_FALSE(TypeParam::make(net).ok());
  net.arcs[0].capacity = -1;
  EXPECT_FALSE(TypeParam::make(net).ok());
  net.arcs[0] = {0, 2, 1};
  EXPECT_FALSE(TypeParam::make(net).ok());
  net.arcs[0] = {0, 1, infinite};
  net.source[0] = infinite;
  EXPECT_TRUE(TypeParam::make(net).ok());
  net.sink.pop_back();
  EXPECT_FALSE(TypeParam::make(net).ok());
}

TYPED_TEST(Solvers, FollowALongChain) {
  constexpr int32_t length = 2000;
  Network net(length);
  for (int32_t n = 0; n < length; ++n) {
    net.source[static_cast<size_t>(n)] = 1;
    if (n > 0) net.arcs.push_back({n - 1, n, infinite});
  }
  net.sink.back() = length / 2;
  TypeParam solver = value_or_throw(TypeParam::make(net));
  ASSERT_TRUE(solver.solve().ok());
  EXPECT_EQ(solver.value(), length / 2);
  EXPECT_EQ(solver.source_side(Nearest::source), std::vector<uint8_t>(length, 1));
}

// Many changes near the bound of capacities: old flow is dropped before it could overflow.
TEST(MaxFlow, StaysWithinBoundsThroughManyChanges) {
  std::mt19937_64 random(3);
  Network net(3);
  net.arcs = {{0, 1, infinite}, {1, 2, infinite}, {2, 1, infinite}, {2, 0, 5}};
  MaxFlow solver = value_or_throw(MaxFlow::make(net));
  for (int round = 0; round < 500; ++round) {
    for (int32_t n = 0; n < 3; ++n) {
      const int64_t most = finite_limit / 8;
      net.source[static_cast<size_t>(n)] = between(random, 0, most);
      net.sink[static_cast<size_t>(n)] = between(random, 0, most);
      ASSERT_TRUE(solver.set_source(n, net.source[static_cast<size_t>(n)]).ok());
      ASSERT_TRUE(solver.set_sink(n, net.sink[static_cast<size_t>(n)]).ok());
    }
    expect_answer(solver, try_every_cut(net));
  }
}

TEST(MaxFlow, RefusedChangesLeaveTheOldCapacity) {
  Network net(1);
  net.source = {7};
  net.sink = {finite_limit - 8};
  MaxFlow solver = value_or_throw(MaxFlow::make(net));
  EXPECT_FALSE(solver.set_source(0, 8).ok());
  EXPECT_FALSE(solver.set_sink(0, -1).ok());
  EXPECT_FALSE(solver.set_source(0, finite_limit).ok());
  ASSERT_TRUE(solver.solve().ok());
  EXPECT_EQ(solver.value(), 7);
}

TEST(MaxFlow, WarmStartsNeedFewerPaths) {
  std::mt19937_64 random(4);
  Network net(2000);
  for (size_t n = 0; n < net.source.size(); ++n) {
    net.source[n] = between(random, 0, 1000);
    net.sink[n] = between(random, 0, 1000);
    for (int k = 0; k < 3; ++k)
      net.arcs.push_back({static_cast<int32_t>(n), static_cast<int32_t>(between(random, 0, 1999)),
                          between(random, 0, 300)});
  }
  MaxFlow warm = value_or_throw(MaxFlow::make(net));
  ASSERT_TRUE(warm.solve().ok());
  const int64_t cold_paths = warm.paths();
  for (int32_t n = 0; n < 10; ++n) ASSERT_TRUE(warm.set_source(n, 500).ok());
  ASSERT_TRUE(warm.solve().ok());
  EXPECT_LT(warm.paths(), cold_paths / 5);
  MaxFlow cold = value_or_throw(MaxFlow::make(warm.network()));
  ASSERT_TRUE(cold.solve().ok());
  EXPECT_EQ(warm.value(), cold.value());
  EXPECT_EQ(warm.source_side(Nearest::source), cold.source_side(Nearest::source));
  EXPECT_EQ(warm.source_side(Nearest::sink), cold.source_side(Nearest::sink));
}

TEST(Solvers, AgreeOnLargerNetworks) {
  std::mt19937_64 random(5);
  for (int k = 0; k < 200; ++k) {
    const Network net = random_network(random, 120);
    MaxFlow trees = value_or_throw(MaxFlow::make(net));
    Dinic levels = value_or_throw(Dinic::make(net));
    ASSERT_EQ(trees.solve().ok(), levels.solve().ok());
    if (find_infinite_path(net)) continue;
    ASSERT_EQ(trees.value(), levels.value());
    for (Nearest nearest : {Nearest::source, Nearest::sink}) {
      ASSERT_EQ(trees.source_side(nearest), levels.source_side(nearest));
      ASSERT_TRUE(verify_flow(net, trees.flow(), trees.source_side(nearest), nearest).ok());
      ASSERT_TRUE(verify_flow(net, levels.flow(), trees.source_side(nearest), nearest).ok());
    }
  }
}

TEST(InfinitePath, IsThereWhenNoCutIsFinite) {
  std::mt19937_64 random(6);
  int paths = 0;
  for (int k = 0; k < 3000; ++k) {
    const Network net = random_network(random, 8);
    const auto path = find_infinite_path(net);
    ASSERT_EQ(path.has_value(), !try_every_cut(net).finite);
    if (!path) continue;
    ++paths;
    int32_t at = path->first;
    ASSERT_EQ(net.source[static_cast<size_t>(at)], infinite);
    for (int32_t a : path->arcs) {
      const Arc& arc = net.arcs[static_cast<size_t>(a)];
      ASSERT_EQ(arc.tail, at);
      ASSERT_EQ(arc.capacity, infinite);
      at = arc.head;
    }
    ASSERT_EQ(at, path->last);
    ASSERT_EQ(net.sink[static_cast<size_t>(at)], infinite);
  }
  EXPECT_GT(paths, 100);
}

TEST(InfinitePath, IsTheShortest) {
  Network net(4);
  net.source[0] = infinite;
  net.sink[3] = infinite;
  net.arcs = {{0, 1, infinite}, {1, 2, infinite}, {2, 3, infinite}, {0, 2, infinite}, {0, 3, 1000}};
  const auto path = find_infinite_path(net);
  ASSERT_TRUE(path.has_value());
  EXPECT_EQ(path->arcs, (std::vector<int32_t>{3, 2}));
  MaxFlow solver = value_or_throw(MaxFlow::make(net));
  const Status solved = solver.solve();
  ASSERT_FALSE(solved.ok());
  EXPECT_EQ(solved.failure().message,
            "flow: every arc is infinite from the source by node 0 and arcs [3, 2] to node 3 and "
            "the sink: no cut is finite; bound one of them");
}

TEST(VerifyFlow, SeesPlantedMistakes) {
  Network net(3);
  net.source = {5, 0, 0};
  net.sink = {0, 0, 4};
  net.arcs = {{0, 1, 3}, {1, 2, 3}};
  MaxFlow solver = value_or_throw(MaxFlow::make(net));
  ASSERT_TRUE(solver.solve().ok());
  const Flow flow = solver.flow();
  const std::vector<uint8_t> near_source = solver.source_side(Nearest::source);
  auto sees = [&](const Flow& f, const std::vector<uint8_t>& side, Nearest nearest) {
    return !verify_flow(net, f, side, nearest).ok();
  };
  ASSERT_FALSE(sees(flow, near_source, Nearest::source));
  EXPECT_TRUE(sees(flow, near_source, Nearest::sink));
  EXPECT_TRUE(sees(flow, {1, 1, 0}, Nearest::source));
  EXPECT_TRUE(sees(flow, {0, 0, 0}, Nearest::source));
  EXPECT_TRUE(sees(flow, {1, 0}, Nearest::source));
  Flow over = flow, lost = flow, misnamed = flow, short_one = flow, weak = flow;
  over.source[0] = over.sink[2] = over.arc[0] = over.arc[1] = 4;
  over.value = 4;
  lost.arc[1] = 2;
  misnamed.value = 4;
  short_one.arc.pop_back();
  weak.source[0] = weak.sink[2] = weak.arc[0] = weak.arc[1] = weak.value = 2;
  for (const Flow& wrong : {over, lost, misnamed, short_one, weak})
    EXPECT_TRUE(sees(wrong, near_source, Nearest::source));
}

}  // namespace
}  // namespace cleave::flow
