// Random small forward graphs, and all choices for one, by definition and without a network.
#pragma once
#include <algorithm>
#include <bit>
#include <random>
#include <utility>

#include "flow/forward_graph.h"
#include "test/flow/every_cut.h"

namespace cleave::flow::test {

// `units` scales costs and bytes; with 1 many choices tie.
inline ForwardGraph random_forward_graph(std::mt19937_64& random, int64_t max_calls,
                                         int64_t max_results, int64_t units) {
  ForwardGraph g;
  auto add_value = [&] {
    g.bytes.push_back(between(random, 0, 4) == 0 ? 0 : between(random, 1, 9 * units));
    g.needed.push_back(between(random, 0, 2) == 0);
    g.unsavable.push_back(between(random, 0, 9) == 0);
  };
  g.placeholders = static_cast<int32_t>(between(random, 1, 3));
  for (int32_t v = 0; v < g.placeholders; ++v) {
    add_value();
    if (between(random, 0, 2)) g.bytes.back() = 0;
    if (between(random, 0, 4)) g.unsavable.back() = 0;
  }
  g.result_begin = {g.placeholders};
  for (int64_t n = between(random, 1, max_calls); n > 0; --n) {
    for (int64_t k = between(random, 0, 3); k > 0; --k)
      g.operand.push_back(
          static_cast<int32_t>(between(random, std::max(0, g.values() - 8), g.values() - 1)));
    g.operand_begin.push_back(static_cast<int32_t>(g.operand.size()));
    g.cost.push_back(between(random, 0, 3) == 0 ? 0 : between(random, 1, 9 * units));
    g.pinned.push_back(between(random, 0, 7) == 0);
    for (int64_t k = between(random, 1, max_results); k > 0; --k) add_value();
    g.result_begin.push_back(g.values());
  }
  return g;
}

struct Choice {
  int64_t bytes = 0, cost = 0;
  uint64_t recompute = 0;  // calls
};

// Every set of calls that may be recomputed. Saved values are those that the backward or such a
// call reads and that aren't results of such a call.
inline std::vector<Choice> every_choice(const ForwardGraph& g) {
  auto range = [](const std::vector<int32_t>& begin, size_t n) {
    return std::pair{static_cast<size_t>(begin[n]), static_cast<size_t>(begin[n + 1])};
  };
  const size_t calls = g.cost.size();
  std::vector<uint64_t> reads(calls), gives(calls);
  for (size_t n = 0; n < calls; ++n) {
    for (auto [k, end] = range(g.operand_begin, n); k < end; ++k)
      reads[n] |= uint64_t{1} << g.operand[k];
    for (auto [v, end] = range(g.result_begin, n); v < end; ++v) gives[n] |= uint64_t{1} << v;
  }
  uint64_t needed = 0, unsavable = 0;
  for (size_t v = 0; v < g.bytes.size(); ++v) {
    needed |= uint64_t{g.needed[v]} << v;
    unsavable |= uint64_t{g.unsavable[v]} << v;
  }
  std::vector<Choice> choices;
  for (uint64_t set = 0; set < uint64_t{1} << calls; ++set) {
    Choice c{0, 0, set};
    uint64_t available = needed, given = 0;
    bool allowed = true;
    for (uint64_t left = set; left; left &= left - 1) {
      const auto n = static_cast<size_t>(std::countr_zero(left));
      allowed = allowed && !g.pinned[n];
      available |= reads[n];
      given |= gives[n];
      c.cost += g.cost[n];
    }
    const uint64_t saved = available & ~given;
    if (!allowed || (saved & unsavable)) continue;
    for (uint64_t left = saved; left; left &= left - 1)
      c.bytes += g.bytes[static_cast<size_t>(std::countr_zero(left))];
    choices.push_back(c);
  }
  return choices;
}

}  // namespace cleave::flow::test
