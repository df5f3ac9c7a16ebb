// fuzz_budgets [N [SEED [BUDGETS [FOLDER]]]]: N random training graphs from SEED on, each under
// BUDGETS budgets between its least and its largest peak, with interpreted kernels, each tenth by
// the compiler; each with options of its own (run_choice.h), each third as a step without tangents,
// each fourth with strides. A graph with a violation is written to FOLDER as wrong_SEED.clv with
// its inputs. Exit status: 0 nothing is violated, 1 something is, 2 it can't run.
#include <chrono>

#include "ir/text.h"
#include "op/registry.h"
#include "test/sample/check_budgets.h"
#include "test/sample/program/main.h"
#include "test/sample/save_graph.h"
#include "test/sample/strided_graph.h"

namespace cleave::random {
namespace {

struct Totals {
  int64_t graphs = 0, cast = 0, budgets = 0, programs = 0, recomputing = 0, masks = 0,
          offloading = 0, unsupported = 0, wrong = 0;
};

void one(const OpRegistry& ops, uint64_t seed, const std::vector<double>& parts,
         const std::string& folder, Totals& totals) {
  RandomGraph forward = value_or_throw(random_graph(ops, seed, {}));
  totals.cast += value_or_throw(cast_some(forward, ops, seed));
  RandomGraph r = value_or_throw(with_gradients(forward, ops, seed));
  if (seed % 4 == 3) r = with_strides(std::move(r), seed);
  ++totals.graphs;
  RunChoice choice = draw_choice(seed, seed % 10 == 0);
  choice.pytorch_budget = -1;
  size_t forward_results = 0;
  if (seed % 3 == 1) {
    RandomStep step = value_or_throw(as_step(r));
    r = std::move(step.r);
    forward_results = step.forward_results;
  }
  const Result<BudgetVerdict> v =
      caught([&] { return check_budgets(r, ops, parts, choice, forward_results); });
  if (!v.ok() && is_unsupported(v.failure())) {
    ++totals.unsupported;
    return;
  }
  if (!v.ok() || !v->violation.empty()) {
    ++totals.wrong;
    fmt::print("seed {}, {}: {}\n{}\n", seed, choice.text(),
               v.ok() ? v->violation : v.failure().message, print(r.g));
    std::fflush(stdout);
    save_graph(r, folder, seed);
    return;
  }
  totals.budgets += v->budgets;
  totals.programs += v->programs;
  totals.recomputing += v->recomputing;
  totals.masks += v->masks;
  totals.offloading += v->offloading;
}

int run(const Arguments& given) {
  const uint64_t n = given.number(1, "N", 100), seed = given.number(2, "SEED", 0);
  const uint64_t budgets = std::max<uint64_t>(2, given.number(3, "BUDGETS", 5));
  std::vector<double> parts;
  for (uint64_t k = 0; k < budgets; ++k)
    parts.push_back(static_cast<double>(k) / static_cast<double>(budgets - 1));
  const std::string folder = given.text(4, "build/wrong_graphs");
  const OpRegistry ops = value_or_throw(core_ops());
  Totals t;
  const auto start = std::chrono::steady_clock::now();
  for (uint64_t k = seed; k < seed + n; ++k)
    t.wrong += failures(fmt::format("seed {}", k), [&] { one(ops, k, parts, folder, t); });
  const std::chrono::duration<double> s = std::chrono::steady_clock::now() - start;
  fmt::print(
      "{} graphs from seed {} ({} under autocast), {} budgets, in {:.0f} s: {} programs run, {} of "
      "them recompute, {} random results compared; {} offload; {} graphs unsupported, {} "
      "violations\n",
      t.graphs, seed, t.cast, t.budgets, s.count(), t.programs, t.recomputing, t.masks,
      t.offloading, t.unsupported, t.wrong);
  return t.wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace cleave::random

int main(int argc, char** argv) {
  return cleave::random::exit_status(argc, argv, cleave::random::run);
}
