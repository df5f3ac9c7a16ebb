// How the passes scale: all of a stage, with every rule loaded, at 1,000 to 1,000,000 nodes, in
// microseconds a node. A figure above 5 is marked, and the exit status is then 1.
//
//   bench_pass_scaling [LARGEST]       default 1000000
//
// Two graphs (bench/graphs/layer_graph.h): one in which hardly any rule matches, and one in which
// several passes match in each layer. Time is the thread's processor time, the minimum of some
// runs.
#include <fmt/format.h>

#include <algorithm>

#include "bench/graphs/layer_graph.h"
#include "bench/scaling.h"
#include "bench/timing.h"
#include "op/registry.h"
#include "pass/pipeline.h"

namespace cleave {
namespace {

constexpr double limit_us = 5;

struct Measured {
  double us = 0;  // a node
  int64_t matches = 0;
};

Measured measure(const OpRegistry& ops, const Graph& g, PassStage stage) {
  const auto nodes = static_cast<double>(g.node_count());
  Measured best{1e300};
  for (int run = 0; run < (nodes <= 10000 ? 10 : 2); ++run) {
    Graph copy = g;
    const double begin = bench::thread_seconds();
    const std::vector<CompilePass> reports = value_or_throw(run_stage(stage, copy, ops, {}));
    best.us = std::min(best.us, 1e6 * (bench::thread_seconds() - begin) / nodes);
    best.matches = 0;
    for (const CompilePass& r : reports) best.matches += r.matches;
  }
  return best;
}

int run(int64_t largest) {
  const OpRegistry ops = value_or_throw(core_ops());
  bool over = false;
  fmt::print("us a node and matches, by number of nodes (limit {} us)\n", limit_us);
  for (const bool foldable : {false, true})
    for (const PassStage stage : pass_stages) {
      fmt::print("{:<9} {:<9}", foldable ? "foldable" : "plain", name_of(stage));
      for (int64_t n = 1000; n <= largest; n *= 10) {
        const Graph g = foldable ? bench::foldable_graph(ops, n) : bench::layer_graph(ops, n);
        const Measured m = measure(ops, g, stage);
        over |= m.us > limit_us;
        fmt::print("{:>9.3f}{} {:>8}", m.us, m.us > limit_us ? '!' : ' ', m.matches);
      }
      fmt::print("\n");
    }
  return over ? 1 : 0;
}

}  // namespace
}  // namespace cleave

int main(int argc, char** argv) { return cleave::bench::run_scaling(argc, argv, cleave::run); }
