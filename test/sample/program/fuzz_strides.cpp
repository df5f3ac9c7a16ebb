// fuzz_strides [N [SEED [FOLDER]]]: N random graphs from SEED on, forward and backward, with
// strides on placeholders and results: the oracle and the compiled program, fused and not, give the
// bits that they give without strides; each tenth seed as machine code, the others as bytecode,
// each fifth in mixed precision, each seventh under memory budgets too. A graph that differs is
// reduced and written to FOLDER as wrong_SEED.clv with its inputs. Exit status: 0 none differs,
// 1 some do, 2 it can't run.
#include "inspect/reduce_graph.h"
#include "ir/text.h"
#include "op/registry.h"
#include "test/sample/check_budgets.h"
#include "test/sample/check_strides.h"
#include "test/sample/program/main.h"
#include "test/sample/save_graph.h"
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

// What is wrong; empty: nothing. Unsupported is an error, other failures are wrong.
// What is wrong; empty: nothing. Unsupported graphs are counted.
std::string wrong_of(const RandomGraph& r, const OpRegistry& ops, uint64_t seed, Totals& totals) {
  const auto compiler = seed % 10 == 0 ? CompilerChoice::automatic : CompilerChoice::none;
  const Result<std::string> wrong = caught([&]() -> Result<std::string> {
    CLEAVE_TRY(std::string difference, stride_difference(r, ops, compiler));
    if (!difference.empty() || seed % 7 != 0) return difference;
    CLEAVE_TRY(const BudgetVerdict v, check_budgets(r, ops, {0, 0.5}));
    return v.violation;
  });
  if (wrong.ok()) return *wrong;
  if (!is_unsupported(wrong.failure())) return failing(wrong.failure());
  ++totals.unsupported;
  return "";
}

void one(const OpRegistry& ops, uint64_t seed, const std::string& folder, Totals& totals) {
  ++totals.graphs;
  const RandomGraph r = graph_of(seed, ops);
  const std::string wrong = wrong_of(r, ops, seed, totals);
  if (wrong.empty()) return;
  ++totals.wrong;
  report(fmt::format("seed {}: {}\n", seed, wrong));
  Totals uncounted;
  const RandomGraph small = reduced(r, [&](const RandomGraph& g) {
    return kind_of(wrong_of(g, ops, seed, uncounted)) == kind_of(wrong);
  });
  save_graph(small, folder, seed);
  report(fmt::format("reduced: {}\n{}\n", wrong_of(small, ops, seed, uncounted), print(small.g)));
}

int run(const Arguments& given) {
  const uint64_t n = given.number(1, "N", 1000), first = given.number(2, "SEED", 1);
  const std::string folder = given.text(3, "build/wrong_graphs");
  const OpRegistry ops = value_or_throw(core_ops());
  Totals totals;
  for (uint64_t seed = first; seed < first + n; ++seed)
    totals.wrong += failures(fmt::format("seed {}", seed), [&] { one(ops, seed, folder, totals); });
  fmt::print("{} graphs, {} unsupported, {} wrong\n", totals.graphs, totals.unsupported,
             totals.wrong);
  return totals.wrong > 0;
}

}  // namespace
}  // namespace cleave::random

int main(int argc, char** argv) {
  return cleave::random::exit_status(argc, argv, cleave::random::run);
}
