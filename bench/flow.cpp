// A minimum cut, including building its network, and the whole frontier, at 1,000 to 1,000,000
// calls of the random graphs of bench/graphs, with a limit for each size. A line over its limit is
// marked, and the exit status is then 1.
//
//   bench_flow [LARGEST]               default 1000000
//   bench_flow network KIND CALLS      one network: the cut's value and time in ms, then a line
//                                      "tail head capacity" for each arc, for bench/peer_flow.py
//
// The price is that of the chord, cost of recomputing all / bytes of saving all, at which cuts are
// hardest. Time is the thread's processor time, the minimum of several runs.
#include <fmt/format.h>
#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "bench/graphs/random_graph.h"
#include "bench/timing.h"
#include "flow/partition_frontier.h"

namespace cleave::bench {
namespace {

using flow::ForwardGraph;
using flow::PartitionNetwork;
using flow::Price;

template <class Run>
double min_ms(int runs, Run run) {
  double best = 1e300;
  for (int k = 0; k < runs; ++k) {
    const double begin = thread_seconds();
    run();
    best = std::min(best, 1e3 * (thread_seconds() - begin));
  }
  return best;
}

// For graphs like transformers; other graphs take 16 / 7 of a cut's time (0.8 s at 1,000,000
// calls).
struct Limits {
  int32_t calls;
  double cut_ms, frontier_ms;
  int runs;
};

constexpr Limits limits[] = {
    {1000, 0.2, 2, 50}, {10000, 2, 25, 20}, {100000, 25, 400, 5}, {1000000, 350, 6000, 2}};
constexpr double other_graphs = 16.0 / 7;

Price chord_of(const PartitionNetwork& net) {
  Price price{1, 1};
  for (int64_t c : net.trade.cost) price.cost += c;
  for (int64_t d : net.trade.demand) price.bytes += std::max<int64_t>(d, 0);
  while (price.bytes > 1 << 10) price = {price.cost >> 1, price.bytes >> 1};
  return {std::max<int64_t>(price.cost, 1), price.bytes};
}

std::vector<uint8_t> cut(const ForwardGraph& g, Price price) {
  const PartitionNetwork net = value_or_throw(flow::build_partition_network(g));
  return value_or_throw(flow::cut_at(net.trade, price, flow::Nearest::source));
}

// 25,000 links, each a value read by three calls, whose values the next link reads.
ForwardGraph chain() {
  ForwardGraph g;
  g.placeholders = 1;
  g.result_begin = {1};
  auto call = [&](std::initializer_list<int32_t> reads, int64_t cost) {
    g.operand.insert(g.operand.end(), reads);
    g.operand_begin.push_back(static_cast<int32_t>(g.operand.size()));
    g.cost.push_back(cost);
    g.result_begin.push_back(g.result_begin.back() + 1);
    return g.result_begin[g.cost.size() - 1];
  };
  Random random(1);
  for (int32_t k = 0, at = 0; k < 25000; ++k) {
    const int32_t a = call({at}, random.between(1, 99)), b = call({at}, random.between(1, 99)),
                  c = call({at}, random.between(1, 99));
    at = call({a, b, c}, random.between(1, 99));
  }
  g.pinned.assign(g.cost.size(), 0);
  g.bytes.assign(g.cost.size() + 1, 4096);
  g.needed.assign(g.bytes.size(), 0);
  g.unsavable.assign(g.bytes.size(), 0);
  for (size_t v = 100; v < g.bytes.size(); v += 1000) g.needed[v] = 1;
  return g;
}

bool print_row(const char* name, const ForwardGraph& g, double cut_limit, double frontier_limit,
               int runs) {
  const Price price = chord_of(value_or_throw(flow::build_partition_network(g)));
  const double cut_ms = min_ms(runs, [&] { cut(g, price); });
  size_t corners = 0;
  const double frontier_ms = min_ms(std::max(1, runs / 5), [&] {
    corners = value_or_throw(flow::PartitionFrontier::make(g)).corners().size();
  });
  auto mark = [](double ms, double limit) { return ms > limit ? '!' : ' '; };
  fmt::print("{:<12}{:>9}{:>12.3f}{}{:>9.4g}{:>14.2f}{}{:>9}{:>10}\n", name, g.calls(), cut_ms,
             mark(cut_ms, cut_limit), cut_limit, frontier_ms, mark(frontier_ms, frontier_limit),
             frontier_limit, corners);
  return cut_ms > cut_limit || frontier_ms > frontier_limit;
}

int run(int64_t largest) {
  fmt::print("{:<12}{:>9}{:>12} {:>9}{:>14} {:>9}{:>10}\n", "graph", "calls", "cut ms", "limit",
             "frontier ms", "limit", "corners");
  bool over = false;
  for (GraphKind kind : graph_kinds)
    for (const Limits& l : limits) {
      if (l.calls > largest) continue;
      const double cut_limit = kind == GraphKind::transformer ? l.cut_ms : other_graphs * l.cut_ms;
      over |=
          print_row(name_of(kind), random_graph(kind, l.calls), cut_limit, l.frontier_ms, l.runs);
    }
  over |= print_row("chain", chain(), other_graphs * 25, 400, 3);
  return over ? 1 : 0;
}

int write_network(std::string_view kind_name, int32_t calls) {
  for (GraphKind kind : graph_kinds) {
    if (kind_name != name_of(kind)) continue;
    const ForwardGraph g = random_graph(kind, calls);
    const PartitionNetwork net = value_or_throw(flow::build_partition_network(g));
    const flow::TradeNetwork& trade = net.trade;
    const Price price = chord_of(net);
    const double ms = min_ms(20, [&] { cut(g, price); });
    const std::vector<uint8_t> sink_side = cut(g, price);
    int64_t value = 0;
    std::string lines;
    auto add = [&](auto tail, auto head, int64_t capacity, bool crosses) {
      if (capacity == 0) return;
      const bool bounded = capacity != flow::infinite;
      if (crosses) value += capacity;
      lines += fmt::format("{} {} {}\n", tail, head, bounded ? fmt::to_string(capacity) : "inf");
    };
    for (size_t n = 0; n < sink_side.size(); ++n) {
      const int64_t bytes = price.cost * trade.demand[n];
      add("s", n, price.bytes * trade.cost[n] + std::max<int64_t>(-bytes, 0), sink_side[n]);
      add(n, "t", std::max<int64_t>(bytes, 0), !sink_side[n]);
    }
    for (const flow::Arc& a : trade.arcs)
      add(a.tail, a.head, a.capacity == flow::infinite ? a.capacity : price.cost * a.capacity,
          !sink_side[static_cast<size_t>(a.tail)] && sink_side[static_cast<size_t>(a.head)]);
    fmt::print("{} {:.4f}\n{}", value, ms, lines);
    return 0;
  }
  fmt::print(stderr, "bench_flow network {}: expected transformer, layered or wide\n", kind_name);
  return 1;
}

}  // namespace
}  // namespace cleave::bench

int main(int argc, char** argv) {
  try {
    if (argc == 4 && std::string_view(argv[1]) == "network")
      return cleave::bench::write_network(argv[2], std::max(1, std::atoi(argv[3])));
    return cleave::bench::run(argc > 1 ? std::max(1000L, std::atol(argv[1])) : 1000000);
  } catch (const cleave::Error& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
}
