// Plans with recomputations against complete search on tiny graphs; bounds never above it.
// tests: recompute_bound.cpp moment_cut.cpp
// tests: sequence_search.cpp
#include "plan/recompute.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <set>
#include <tuple>

#include "plan/moment_cut.h"
#include "plan/order.h"
#include "plan/recompute_bound.h"
#include "plan/simulate.h"
#include "test/plan/random_task_graph.h"

namespace cleave::plan {
namespace {

constexpr int64_t unreachable = std::numeric_limits<int64_t>::max();

// The least time of any sequence within the limit: Dijkstra's algorithm over (values in memory,
// tasks run so far). With an order, first runs must follow it.
int64_t min_time(const TaskGraph& g, int64_t limit, std::span<const TaskId> order = {}) {
  using State = std::pair<uint32_t, uint32_t>;
  const auto n = static_cast<uint32_t>(g.size());
  uint32_t kept = 0;
  for (ValueId x = 0; x < g.values.size(); ++x)
    kept |= static_cast<uint32_t>(g.values[x].kept) << x;
  std::map<State, int64_t> time{{{0, 0}, 0}};
  std::priority_queue<std::tuple<int64_t, uint32_t, uint32_t>,
                      std::vector<std::tuple<int64_t, uint32_t, uint32_t>>, std::greater<>>
      queue;
  queue.emplace(0, 0, 0);
  while (!queue.empty()) {
    const auto [t, memory, run] = queue.top();
    queue.pop();
    if (time[{memory, run}] < t) continue;
    if (run + 1 == 1u << n && (kept & ~memory) == 0) return t;
    const auto go = [&](uint32_t m, uint32_t r, int64_t at) {
      const auto [it, fresh] = time.try_emplace({m, r}, at);
      if (!fresh && it->second <= at) return;
      it->second = at;
      queue.emplace(at, m, r);
    };
    for (ValueId x = 0; x < g.values.size(); ++x)
      if (memory >> x & 1) go(memory & ~(1u << x), run, t);
    for (TaskId v = 0; v < n; ++v) {
      bool ready = !(g[v].once && (run >> v & 1));
      for (const ValueId x : g.operands(v)) ready = ready && (memory >> x & 1);
      if (!order.empty() && !(run >> v & 1))
        ready = ready && order[static_cast<size_t>(__builtin_popcount(run))] == v;
      if (!ready) continue;
      uint32_t made = 0, required = 0;
      for (const ValueId x : g.made_by(v)) {
        made |= 1u << x;
        required |= g.values[x].optional ? 0 : 1u << x;
      }
      for (uint32_t now = 0; now <= made; ++now) {
        if ((now & ~made) || (required & ~now)) continue;
        int64_t bytes = g[v].workspace;
        for (ValueId x = 0; x < g.values.size(); ++x)
          bytes += (memory | now) >> x & 1 ? g.values[x].bytes : 0;
        if (bytes <= limit) go(memory | now, run | 1u << v, t + g[v].time);
      }
    }
  }
  return unreachable;
}

struct Case {
  TaskGraph graph;
  std::vector<TaskId> given;
  int64_t limit = 0;
};

// Mostly with a limit at which a plan is asked for and possible: from the largest task to below
// the given order's peak.
Case random_case(uint64_t seed) {
  SplitMix random(seed);
  Case c;
  const bool several = seed % 7 >= 4;
  c.graph = random_graph(random, {5 + random.below(several ? 2 : 4), 25 + random.below(20), 9, 5,
                                  seed % 3 == 0, seed % 4 == 0, seed % 5 == 0, several ? 2u : 1u});
  c.given = first_order(c.graph);
  const int64_t peak = value_or_throw(simulate(c.graph, c.given)).peak;
  const int64_t least = largest_task(c.graph) - (seed % 16 == 0);
  c.limit = least + random.below(static_cast<uint32_t>(std::max<int64_t>(1, peak - least)));
  return c;
}

// What a cut keeps and runs again is what its tasks say.
TEST(Recompute, a_cut_is_known_by_its_tasks) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Case c = random_case(seed);
    const Moment moment = moment_in_order(c.graph, c.given, c.given.size() / 2);
    for (const int64_t price : {1, 3, 100}) {
      const MomentCut cut = moment.at_price(2, price);
      const MomentCut same = moment.running_again(cut.again);
      EXPECT_EQ(same.bytes, cut.bytes) << "seed " << seed;
      EXPECT_EQ(same.time, cut.time) << "seed " << seed;
    }
    EXPECT_EQ(moment.running_again({}).bytes, moment.keep_all().bytes) << "seed " << seed;
  }
}

// Graphs small enough for complete search: met wherever it can be, in the least time.
TEST(Recompute, SmallGraphsAreExact) {
  size_t met = 0, unmet = 0, dearer = 0, dearer_in_order = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const Case c = random_case(seed);
    const int64_t best = min_time(c.graph, c.limit);
    const int64_t best_in_order = min_time(c.graph, c.limit, c.given);
    const RecomputePlan plan = value_or_throw(plan_recompute(c.graph, c.given, c.limit));
    const Simulated s = value_or_throw(simulate(c.graph, plan.found.tasks));
    ASSERT_EQ(s.peak, plan.found.peak) << "seed " << seed;
    ASSERT_EQ(s.time, plan.found.time) << "seed " << seed;
    ASSERT_EQ(plan.found.met, s.peak <= c.limit) << "seed " << seed;
    ASSERT_EQ(plan.found.met, best != unreachable) << "seed " << seed;
    ASSERT_EQ(plan.reachable, best != unreachable) << "seed " << seed;
    if (best == unreachable) {
      // One byte less than the least peak found is too little for any.
      ASSERT_EQ(min_time(c.graph, plan.found.peak - 1), unreachable) << "seed " << seed;
      ++unmet;
      continue;
    }
    ASSERT_EQ(plan.found.time, best) << "seed " << seed;
    ASSERT_EQ(plan.time_once + plan.bound_time, best) << "seed " << seed;
    if (best_in_order != unreachable) {
      ASSERT_EQ(plan.time_once + plan.bound_given_time, best_in_order) << "seed " << seed;
      dearer_in_order += best_in_order > best;
    }
    ++met;
    dearer += best > plan.time_once;
  }
  EXPECT_GE(met, 100u);
  EXPECT_GE(unmet, 20u);
  EXPECT_GE(dearer, 20u);
  EXPECT_GE(dearer_in_order, 5u);
}

TEST(Recompute, SearchMostlyEqualsCompleteSearchOnTinyGraphs) {
  size_t reachable = 0, equal = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Case c = random_case(seed);
    const int64_t best = min_time(c.graph, c.limit);
    const std::vector<TaskId> orders[] = {c.given, min_peak_order(c.graph, c.given).tasks};
    const FoundSequence found =
        find_recompute(c.graph, orders, c.limit, {.seed = 1, .moves = 3000});
    const Simulated s = value_or_throw(simulate(c.graph, found.tasks));
    ASSERT_EQ(s.peak, found.peak) << "seed " << seed;
    ASSERT_EQ(s.time, found.time) << "seed " << seed;
    ASSERT_EQ(found.met, s.peak <= c.limit) << "seed " << seed;
    if (found.met) { ASSERT_GE(found.time, best) << "seed " << seed; }
    reachable += best != unreachable;
    equal += found.met && found.time == best;
  }
  EXPECT_GE(reachable, 80u);
  EXPECT_GE(equal * 100, reachable * 97) << equal << " of " << reachable;
}

TEST(RecomputeBound, IsNeverAboveCompleteSearch) {
  size_t above_zero = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Case c = random_case(seed);
    const int64_t once = value_or_throw(simulate(c.graph, c.given)).time_once;
    const BoundEffort effort = effort_for(c.graph.size());
    const RecomputeBound any = bound_any_order(c.graph, c.given, c.limit, effort);
    const RecomputeBound in_order = bound_given_order(c.graph, c.given, c.limit, effort);
    const int64_t best = min_time(c.graph, c.limit);
    const int64_t best_in_order = min_time(c.graph, c.limit, c.given);
    if (best != unreachable) {
      ASSERT_TRUE(any.reachable) << "seed " << seed;
      ASSERT_LE(once + any.time, best) << "seed " << seed;
    }
    if (best_in_order != unreachable) {
      ASSERT_LE(once + in_order.time, best_in_order) << "seed " << seed;
    }
    above_zero += in_order.time > 0;
  }
  EXPECT_GE(above_zero, 10u);
}

TEST(Recompute, SameSeedSamePlan) {
  SplitMix random(5);
  const TaskGraph g = random_graph(random, {60, 8, 30, 9});
  const std::vector<TaskId> given = first_order(g);
  const int64_t limit = value_or_throw(simulate(g, given)).peak * 7 / 10;
  const RecomputeOptions options{.seed = 3, .moves = 20000};
  const RecomputePlan a = value_or_throw(plan_recompute(g, given, limit, options));
  const RecomputePlan b = value_or_throw(plan_recompute(g, given, limit, options));
  EXPECT_EQ(a.found.tasks, b.found.tasks);
  EXPECT_EQ(a.bound_time, b.bound_time);
}

TEST(Recompute, NothingIsRunAgainWhereTheGivenOrderFits) {
  const Case c = random_case(7);
  const int64_t peak = value_or_throw(simulate(c.graph, c.given)).peak;
  const RecomputePlan plan = value_or_throw(plan_recompute(c.graph, c.given, peak));
  EXPECT_TRUE(plan.found.met);
  EXPECT_EQ(plan.found.tasks, c.given);
  EXPECT_EQ(plan.found.time, plan.time_once);
}

TEST(Recompute, SearchIsNeverWorseThanItsStart) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const Case c = random_case(seed);
    const Simulated start = value_or_throw(simulate(c.graph, c.given));
    const FoundSequence found = search_sequence(c.graph, c.given, c.limit, {.moves = 300});
    EXPECT_LE(found.peak, start.peak);
    const FoundSequence roomy = search_sequence(c.graph, c.given, start.peak, {.moves = 300});
    EXPECT_TRUE(roomy.met);
    EXPECT_EQ(roomy.time, start.time);
  }
}

TEST(Recompute, RefusesAnOrderThatIsNone) {
  const std::vector<Link> links = {{0, 1}};
  const TaskGraph g = value_or_throw(make_task_graph({{1}, {1}}, links));
  for (const std::vector<TaskId>& wrong :
       {std::vector<TaskId>{1, 0}, std::vector<TaskId>{0}, std::vector<TaskId>{0, 0, 1}})
    EXPECT_FALSE(plan_recompute(g, wrong, 5).ok());
}

TEST(RecomputeBound, FallsAsTheLimitRises) {
  size_t above_zero = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Case c = random_case(seed);
    const int64_t peak = value_or_throw(simulate(c.graph, c.given)).peak;
    for (size_t at = 0; at < c.given.size(); ++at) {
      int64_t before = unreachable;
      const Moment moment = moment_in_order(c.graph, c.given, at);
      for (int64_t limit = moment.needed_bytes(); limit <= peak; ++limit) {
        const MomentBound bound = bound_at(moment, limit);
        if (!bound.reachable) {
          ASSERT_EQ(before, unreachable) << "seed " << seed;
          continue;
        }
        ASSERT_LE(bound.fits.bytes + moment.needed_bytes(), limit) << "seed " << seed;
        ASSERT_LE(bound.time, before) << "seed " << seed;
        before = bound.time;
        above_zero += bound.time > 0;
      }
      ASSERT_EQ(before == unreachable ? 0 : before, 0);
    }
  }
  EXPECT_GE(above_zero, 100u);
}

// Every choice of what runs again, by hand.
int64_t min_cost(const TaskGraph& g, TaskId q, const std::vector<Side>& side, int64_t time_price,
                 int64_t bytes_price) {
  const auto n = static_cast<uint32_t>(g.size());
  std::vector<bool> at_hand(g.values.size(), false);
  for (const ValueId x : g.made_by(q)) at_hand[x] = !g.values[x].optional;
  for (const ValueId x : g.operands(q)) at_hand[x] = true;
  int64_t best = unreachable;
  for (uint32_t again = 0; again < 1u << n; ++again) {
    bool possible = true;
    uint32_t needed = 0;
    for (ValueId x = 0; x < g.values.size(); ++x)
      if (g.values[x].kept) needed |= 1u << x;
    for (TaskId v = 0; v < n; ++v) {
      if (side[v] == Side::after) possible = possible && (again >> v & 1);
      if (side[v] == Side::before && g[v].once) possible = possible && !(again >> v & 1);
      if (again >> v & 1)
        for (const ValueId x : g.operands(v)) needed |= 1u << x;
    }
    if (!possible) continue;
    int64_t cost = 0;
    for (TaskId v = 0; v < n; ++v) {
      if (again >> v & 1)
        cost += side[v] == Side::before ? g[v].time * time_price : 0;
      else
        for (const ValueId x : g.made_by(v))
          cost += (needed >> x & 1) && !at_hand[x] ? g.values[x].bytes * bytes_price : 0;
    }
    best = std::min(best, cost);
  }
  return best;
}

TEST(MomentCut, EqualsEveryChoice) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SplitMix random(seed);
    const TaskGraph g = random_graph(random, {3 + random.below(7), 35, 9, 5, true, seed % 2 == 0,
                                              seed % 3 == 0, 1 + static_cast<uint32_t>(seed % 4)});
    const std::vector<TaskId> order = first_order(g);
    const size_t at = random.below(static_cast<uint32_t>(order.size()));
    std::vector<Side> side(g.size(), Side::after);
    for (size_t i = 0; i <= at; ++i)
      side[order[i]] = i < at && random.below(4) == 0 ? Side::open : Side::before;
    const int64_t time_price = random.below(4), bytes_price = 1 + random.below(4);
    const MomentCut cut = Moment(g, order[at], side).at_price(time_price, bytes_price);
    ASSERT_EQ(cut.time * time_price + cut.bytes * bytes_price,
              min_cost(g, order[at], side, time_price, bytes_price))
        << "seed " << seed;
  }
}

}  // namespace
}  // namespace cleave::plan
