// How the graph scales: build, print, parse, verify, dead code, common subexpressions and sort at
// 1,000 to 1,000,000 nodes, in microseconds a node. A line that needs more than 5 is marked, and
// the exit status is then 1.
//
//   bench_ir_scaling [LARGEST]       default 1000000
//
// The graph is that of bench/graphs/layer_graph.h. Time is the thread's processor time, the minimum
// of several runs.
#include <fmt/format.h>
#include <algorithm>
#include <functional>
#include <vector>

#include "bench/graphs/layer_graph.h"
#include "bench/scaling.h"
#include "bench/timing.h"
#include "ir/edit.h"
#include "ir/text.h"
#include "op/registry.h"

namespace cleave {
namespace {

constexpr double limit_us = 5;

// The least time of `runs` runs, in microseconds; `prepare` is not counted.
template <class Prepare, class Run>
double least(int runs, Prepare prepare, Run run) {
  double best = 1e300;
  for (int i = 0; i < runs; ++i) {
    auto prepared = prepare();
    const double begin = bench::thread_seconds();
    run(prepared);
    best = std::min(best, 1e6 * (bench::thread_seconds() - begin));
  }
  return best;
}

struct Row {
  const char* name;
  double us = 0;
};

std::vector<Row> measure(const OpRegistry& ops, int64_t nodes) {
  const int runs = nodes <= 10000 ? 20 : nodes <= 100000 ? 4 : 2;
  const Graph g = bench::layer_graph(ops, nodes);
  const std::string text = print(g);
  std::vector<NodeId> reversed = g.order();
  std::reverse(reversed.begin(), reversed.end());
  auto nothing = [] { return 0; };
  auto copy = [&] { return g; };
  auto reordered = [&] {
    Graph h = g;
    value_or_throw(h.reorder(reversed));
    return h;
  };
  return {
      {"build", least(runs, nothing, [&](int) { bench::layer_graph(ops, nodes); })},
      {"print", least(runs, nothing, [&](int) { print(g); })},
      {"parse", least(runs, nothing, [&](int) { value_or_throw(parse(text, "bench", ops)); })},
      {"verify", least(runs, nothing, [&](int) { value_or_throw(verify(g)); })},
      {"dead code", least(runs, copy, [](Graph& h) { eliminate_dead_code(h); })},
      {"common", least(runs, copy, [](Graph& h) { eliminate_common_subexpressions(h); })},
      {"sort", least(runs, reordered, [](Graph& h) { value_or_throw(sort_topologically(h)); })},
  };
}

int run(int64_t largest) {
  const OpRegistry ops = value_or_throw(core_ops());
  std::vector<int64_t> sizes;
  for (int64_t n = 1000; n <= largest; n *= 10) sizes.push_back(n);
  std::vector<std::vector<Row>> columns;
  for (int64_t n : sizes) columns.push_back(measure(ops, n));
  fmt::print("us a node, by number of nodes (limit {})\n{:<12}", limit_us, "");
  for (int64_t n : sizes) fmt::print("{:>11}", n);
  fmt::print("\n");
  bool over = false;
  for (size_t r = 0; r < columns[0].size(); ++r) {
    fmt::print("{:<12}", columns[0][r].name);
    for (size_t c = 0; c < sizes.size(); ++c) {
      const double us = columns[c][r].us / static_cast<double>(sizes[c]);
      over = over || us > limit_us;
      fmt::print("{:>10.3f}{}", us, us > limit_us ? '!' : ' ');
    }
    fmt::print("\n");
  }
  return over ? 1 : 0;
}

}  // namespace
}  // namespace cleave

int main(int argc, char** argv) { return cleave::bench::run_scaling(argc, argv, cleave::run); }
