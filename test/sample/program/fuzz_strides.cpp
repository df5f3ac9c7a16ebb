// fuzz_strides [N [SEED [FOLDER]]]: N random graphs from SEED on, forward and backward, with
// strides on placeholders and results: the oracle and the compiled program, fused and not, give the
// bits that they give without strides; each tenth seed as machine code, the others as bytecode,
// each fifth in mixed precision, each seventh under memory budgets too. A graph that differs is
// reduced and written to FOLDER as strided_SEED.clv. Exit status: 0 none differs, 1 some do.
#include <filesystem>
#include <fstream>

#include "ir/text.h"
#include "op/registry.h"
#include "test/sample/check_budgets.h"
#include "test/sample/check_strides.h"
#include "test/sample/program/argument.h"
#include "test/sample/reduce_graph.h"
#include "test/sample/strided_graph.h"

namespace cleave::random {
namespace {

RandomGraph graph_of(uint64_t seed, const OpRegistry& ops) {
  RandomGraph forward = value_or_throw(random_graph(ops, seed, {}));
  value_or_throw(cast_some(forward, ops, seed));
  return with_strides(value_or_throw(with_gradients(forward, ops, seed)), seed);
}

struct Totals {
  int64_t graphs = 0, unsupported = 0, wrong = 0;
};

std::string wrong_of(const RandomGraph& r, const OpRegistry& ops, uint64_t seed, Totals& totals) {
  const auto compiler = seed % 10 == 0 ? CompilerChoice::automatic : CompilerChoice::none;
  const Result<std::string> difference = stride_difference(r, ops, compiler);
  if (!difference.ok()) {
    if (difference.failure().kind != ErrorKind::unsupported) return difference.failure().message;
    ++totals.unsupported;
    return "";
  }
  if (!difference->empty() || seed % 7 != 0) return *difference;
  const Result<BudgetVerdict> v = check_budgets(r, ops, {0, 0.5});
  return v.ok() ? v->violation : "";
}

int run(int argc, char** argv) {
  const uint64_t count = argc > 1 ? number(argv[1], "N") : 1000;
  const uint64_t first = argc > 2 ? number(argv[2], "SEED") : 1;
  const std::filesystem::path folder = argc > 3 ? argv[3] : ".";
  const OpRegistry ops = value_or_throw(core_ops());
  Totals totals;
  for (uint64_t seed = first; seed < first + count; ++seed, ++totals.graphs) {
    const RandomGraph r = graph_of(seed, ops);
    const std::string wrong = wrong_of(r, ops, seed, totals);
    if (wrong.empty()) continue;
    ++totals.wrong;
    fmt::print("seed {}: {}\n", seed, wrong);
    const RandomGraph small =
        reduced(r, [&](const RandomGraph& g) { return !wrong_of(g, ops, seed, totals).empty(); });
    std::filesystem::create_directories(folder);
    std::ofstream(folder / fmt::format("strided_{}.clv", seed)) << print(small.g);
    fmt::print("{}", print(small.g));
    std::fflush(stdout);
  }
  fmt::print("{} graphs, {} unsupported, {} wrong\n", totals.graphs, totals.unsupported,
             totals.wrong);
  return totals.wrong > 0;
}

}  // namespace
}  // namespace cleave::random

int main(int argc, char** argv) {
  try {
    return cleave::random::run(argc, argv);
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 2;
  }
}
