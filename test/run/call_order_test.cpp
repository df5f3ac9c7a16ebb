#include "run/call_order.h"

#include <gtest/gtest.h>

#include <random>

namespace cleave {
namespace {

const auto* const memory = reinterpret_cast<const std::byte*>(64);
MemoryUse reads(int64_t at, int64_t bytes = 4) { return {memory + at, bytes, false}; }
MemoryUse writes(int64_t at, int64_t bytes = 4) { return {memory + at, bytes, true}; }

// By call: those that have ended when it begins, as lanes and waits say alone. The last row is the
// end of lane 0.
std::vector<std::vector<bool>> ended_before(const CallOrder& order) {
  const size_t n = order.calls.size();
  std::vector<std::vector<bool>> out(n + 1, std::vector<bool>(n));
  const auto add = [&](std::vector<bool>& to, size_t call) {
    for (size_t k = 0; k < n; ++k) to[k] = to[k] || out[call][k];
    to[call] = true;
  };
  const auto add_lane = [&](std::vector<bool>& to, size_t lane, size_t before) {
    for (size_t k = before; k-- > 0;)
      if (order.calls[k].lane == lane) return add(to, k);
  };
  for (size_t i = 0; i < n; ++i) {
    add_lane(out[i], order.calls[i].lane, i);
    for (const size_t k : order.calls[i].waits) add(out[i], k);
  }
  add_lane(out[n], 0, n);
  for (const size_t k : order.ends) add(out[n], k);
  return out;
}

TEST(CallOrder, ASmallCallRunsBesideWhatItDoesntTouch) {
  const CallOrder order = order_calls({{{writes(0)}},
                                       {{reads(0), writes(8)}, true},
                                       {{reads(0), writes(16)}},
                                       {{reads(8), reads(16), writes(24)}}});
  EXPECT_TRUE(order.has_lanes());
  EXPECT_EQ(order.calls[1].lane, 1u);
  EXPECT_EQ(order.calls[1].waits, std::vector<size_t>{0});
  EXPECT_EQ(order.calls[2].lane, 0u);
  EXPECT_TRUE(order.calls[2].waits.empty());
  EXPECT_EQ(order.calls[3].waits, std::vector<size_t>{1});
  EXPECT_TRUE(order.calls[0].is_waited_for);
  EXPECT_TRUE(order.calls[1].is_waited_for);
  EXPECT_FALSE(order.calls[2].is_waited_for);
  EXPECT_TRUE(order.ends.empty());
}

TEST(CallOrder, ReadsOfTheSameBytesDontWait) {
  const CallOrder order =
      order_calls({{{reads(0), writes(8)}, true}, {{reads(0), writes(16)}, true}, {{writes(24)}}});
  EXPECT_NE(order.calls[0].lane, order.calls[1].lane);
  EXPECT_TRUE(order.calls[1].waits.empty());
  EXPECT_EQ(order.ends, (std::vector<size_t>{1, 0}));
}

TEST(CallOrder, BytesThatAreUsedAgainAreWaitedFor) {
  // What is read, and then other values' memory; a byte in common is enough.
  const auto waits = [](const MemoryUse& use) {
    return order_calls({{{writes(0)}}, {{reads(0), writes(8)}, true}, {{writes(16)}}, {{use}}})
        .calls[3]
        .waits;
  };
  EXPECT_EQ(waits(writes(3, 2)), std::vector<size_t>{1});
  EXPECT_TRUE(waits(writes(4, 4)).empty());
}

TEST(CallOrder, AChainStaysOnItsLane) {
  const CallOrder order = order_calls({{{writes(0)}, true},
                                       {{reads(0), writes(4)}, true},
                                       {{writes(8)}, true},
                                       {{reads(4), writes(12)}, true},
                                       {{writes(16)}}});
  EXPECT_EQ(order.calls[0].lane, order.calls[1].lane);
  EXPECT_EQ(order.calls[0].lane, order.calls[3].lane);
  EXPECT_NE(order.calls[0].lane, order.calls[2].lane);
  EXPECT_TRUE(order.calls[3].waits.empty());
}

TEST(CallOrder, WhatComesAfterACheckWaitsForIt) {
  const CallOrder order = order_calls(
      {{{reads(0)}, false, true}, {{writes(8)}, true}, {{writes(16)}, true}, {{writes(24)}}});
  EXPECT_EQ(order.calls[1].waits, std::vector<size_t>{0});
  EXPECT_EQ(order.calls[2].waits, std::vector<size_t>{0});
}

TEST(CallOrder, WhatTheNextLargeCallWaitsForStays) {
  // As does what that waits for.
  const CallOrder order = order_calls({{{writes(0)}, true},
                                       {{writes(4)}, true},
                                       {{reads(0), writes(8)}, true},
                                       {{reads(8), writes(12)}}});
  EXPECT_EQ(order.calls[0].lane, 0u);
  EXPECT_NE(order.calls[1].lane, 0u);
  EXPECT_EQ(order.calls[2].lane, 0u);
  // Without a large one, what the last one waits for.
  const CallOrder small =
      order_calls({{{writes(0)}, true}, {{writes(4)}, true}, {{reads(0)}, true}});
  EXPECT_EQ(small.calls[0].lane, 0u);
  EXPECT_NE(small.calls[1].lane, 0u);
  EXPECT_EQ(small.calls[2].lane, 0u);
}

TEST(CallOrder, WithoutSmallCallsAllIsAsItWas) {
  const CallOrder order = order_calls({{{writes(0)}}, {{reads(0), writes(4)}}});
  EXPECT_FALSE(order.has_lanes());
  EXPECT_TRUE(order.calls[1].waits.empty());
  EXPECT_TRUE(order.ends.empty());
  EXPECT_FALSE(order_calls({}).has_lanes());
}

TEST(CallOrder, OfVeryManyCallsNoneLeaves) {
  // Pairs of a small call and a large one, which access nothing of each other.
  const auto order_of = [](int64_t n) {
    std::vector<CallUse> calls;
    for (int64_t k = 0; k < n; ++k) calls.push_back({{writes(8 * k)}, k % 2 == 0});
    return order_calls(calls);
  };
  EXPECT_TRUE(order_of(8192).has_lanes());
  const CallOrder many = order_of(8193);
  EXPECT_FALSE(many.has_lanes());
  EXPECT_EQ(many.calls.size(), 8193u);
  EXPECT_TRUE(many.ends.empty());
}

TEST(CallOrder, ConflictsStayInOrder) {
  std::mt19937_64 random(1);
  const auto draw = [&](uint64_t below) { return static_cast<int64_t>(random() % below); };
  int64_t conflicts = 0, beside = 0;
  for (int program = 0; program < 300; ++program) {
    std::vector<CallUse> calls(static_cast<size_t>(1 + draw(60)));
    const auto room = static_cast<uint64_t>(8 + draw(200));
    for (CallUse& call : calls) {
      for (int64_t k = 1 + draw(4); k > 0; --k)
        call.memory.push_back({memory + draw(room), 1 + draw(6), draw(3) == 0});
      call.is_small = draw(2) == 0;
      call.may_fail = !call.is_small && draw(20) == 0;
    }
    const CallOrder order = order_calls(calls);
    const auto ended = ended_before(order);
    for (size_t i = 0; i < calls.size(); ++i) {
      EXPECT_TRUE(calls[i].is_small || order.calls[i].lane == 0);
      EXPECT_TRUE(ended[calls.size()][i]) << "the end doesn't wait for call " << i;
      for (size_t k = 0; k < i; ++k) {
        bool conflict = calls[k].may_fail;
        for (const MemoryUse& a : calls[k].memory)
          for (const MemoryUse& b : calls[i].memory)
            for (const std::byte* at = a.begin; at < a.begin + a.bytes; ++at)
              conflict |= (a.is_written || b.is_written) && at >= b.begin && at < b.begin + b.bytes;
        conflicts += conflict;
        beside += !ended[i][k];
        EXPECT_TRUE(!conflict || ended[i][k]) << k << " and " << i << " of program " << program;
      }
    }
  }
  EXPECT_GT(conflicts, 10000);
  EXPECT_GT(beside, 10000);
}

}  // namespace
}  // namespace cleave
