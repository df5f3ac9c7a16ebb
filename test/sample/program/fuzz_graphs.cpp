// fuzz_graphs [N [SEED [FOLDER]]]: N random graphs from SEED on, forward and backward, compiled
// against the oracle: each tenth seed by the compiler, the others with interpreted kernels, which
// the laws hold to the same values; each 37th calls conds and loops; each third with a symbolic
// size, where it can have one; each with options of its own (run_choice.h), every other one after
// the passes in front of gradients. Each fifth seed is in mixed precision, each fifth has strides;
// in each fourth, whatever can be computed again instead of kept is. A graph that differs is
// reduced and written to FOLDER as wrong_SEED.clv with its inputs. Exit status: 0 none differs,
// 1 some do, 2 it can't run.
#include <chrono>

#include "grad/grad.h"
#include "inspect/reduce_graph.h"
#include "interp/interpret.h"
#include "ir/text.h"
#include "op/registry.h"
#include "pass/pipeline.h"
#include "remat/cheap_remat.h"
#include "test/sample/branch_graph.h"
#include "test/sample/check_graph.h"
#include "test/sample/program/main.h"
#include "test/sample/sample_call.h"
#include "test/sample/save_graph.h"
#include "test/sample/strided_graph.h"
#include "test/sample/symbolic_graph.h"

namespace cleave::random {
namespace {

struct Totals {
  int64_t graphs = 0, branches = 0, shipping = 0, symbolic = 0, cast = 0, again = 0, nodes = 0,
          elements = 0, left_open = 0, unsupported = 0, wrong = 0;
};

// `r` becomes the same graph with a symbolic size, where it has one.
void try_symbol(const OpRegistry& ops, uint64_t seed, const RandomGraph& forward, RandomGraph& r,
                Totals& totals) {
  const std::optional<RandomGraph> symbolic = with_symbol(forward, seed);
  if (!symbolic) return;
  ++totals.symbolic;
  Result<RandomGraph> joint = with_gradients(*symbolic, ops, seed);
  Result<std::string> why = std::string();
  if (joint.ok()) why = symbolic_difference(*joint, r);
  if (joint.ok() && why.ok() && why->empty()) {
    r = *std::move(joint);
    return;
  }
  ++totals.wrong;
  if (const Result<Graph> with = make_joint(symbolic->g, ops); !with.ok())
    fmt::print("seed {}: {}\n", seed, with.failure().message);
  fmt::print("seed {}: {}\n{}\n", seed,
             !joint.ok() ? joint.failure().message
             : !why.ok() ? why.failure().message
                         : *why,
             print(symbolic->g));
}

// `r` becomes a graph that keeps as little as can be, with the same bits. Returns what is wrong.
Result<std::string> compute_again(RandomGraph& r, Totals& totals) {
  std::vector<const Array*> in;
  for (const Array& a : r.inputs) in.push_back(&a);
  CLEAVE_TRY(const Arrays want, interpret(r.g, in));
  CLEAVE_TRY(const CheapRemat kept,
             cheap_remat(r.g, {}, {.max_time = 1, .min_gain = 0, .min_bytes = 1, .far_calls = 2}));
  CLEAVE_CHECK(verify(r.g));
  totals.again += kept.calls > 0;
  CLEAVE_TRY(const Arrays got, interpret(r.g, in));
  for (size_t k = 0; k < want.size(); ++k)
    if (std::string why = law::difference(got[k], want[k], 0); !why.empty())
      return fmt::format("result {}, computed with less kept, {}", k, why);
  return std::string();
}

RandomGraph draw_forward(const OpRegistry& ops, uint64_t seed, Totals& totals) {
  if (seed % 37 != 7) return value_or_throw(random_graph(ops, seed, {}));
  ++totals.branches;
  const auto levels = static_cast<int>(1 + seed / 37 % 6);
  return branch_graph(ops, seed,
                      {.levels = levels, .dtype = seed % 3 == 0 ? DType::f64 : DType::f32});
}

void one(const OpRegistry& ops, uint64_t seed, const std::string& folder, Totals& totals) {
  RandomGraph forward = draw_forward(ops, seed, totals);
  totals.cast += value_or_throw(cast_some(forward, ops, seed));
  const bool ships = seed % 10 == 0;
  const RunChoice choice = draw_choice(seed, ships);
  if (seed % 2 == 0) value_or_throw(run_stage(PassStage::pre_grad, forward.g, ops, choice.compile));
  RandomGraph r = value_or_throw(with_gradients(forward, ops, seed));
  if (seed % 3 == 0) try_symbol(ops, seed, forward, r, totals);
  if (seed % 4 == 1) {
    const RandomGraph whole = r;
    const Result<std::string> why = compute_again(r, totals);
    if (!why.ok() || !why->empty()) {
      ++totals.wrong;
      fmt::print("seed {}: {}\n{}\n", seed, why.ok() ? *why : why.failure().message,
                 print(whole.g));
    }
  }
  if (seed % 5 == 3) r = with_strides(std::move(r), seed);
  ++totals.graphs;
  totals.shipping += ships;
  totals.nodes += static_cast<int64_t>(r.g.node_count());
  const auto verdict_of = [&](const RandomGraph& g) {
    return caught([&] { return check_graph(g, ops, choice); });
  };
  const auto wrong_of = [](const Result<Verdict>& v) {
    return v.ok() ? v->difference : is_unsupported(v.failure()) ? "" : failing(v.failure());
  };
  const Result<Verdict> verdict = verdict_of(r);
  if (verdict.ok()) {
    totals.elements += verdict->elements;
    totals.left_open += verdict->left_open;
  }
  const std::string wrong = wrong_of(verdict);
  totals.unsupported += !verdict.ok() && wrong.empty();
  if (wrong.empty()) return;
  ++totals.wrong;
  report(fmt::format("seed {}, {}: {}\n", seed, choice.text(), wrong));
  const RandomGraph small = reduced(
      r, [&](const RandomGraph& g) { return kind_of(wrong_of(verdict_of(g))) == kind_of(wrong); });
  save_graph(small, folder, seed);
  report(fmt::format("reduced: {}\n{}\n", wrong_of(verdict_of(small)), print(small.g)));
}

int run(const Arguments& given) {
  const uint64_t n = given.number(1, "N", 100), seed = given.number(2, "SEED", 0);
  const std::string folder = given.text(3, "build/wrong_graphs");
  const OpRegistry ops = value_or_throw(core_ops());
  Totals totals;
  const auto start = std::chrono::steady_clock::now();
  for (uint64_t k = seed; k < seed + n; ++k)
    totals.wrong += failures(fmt::format("seed {}", k), [&] { one(ops, k, folder, totals); });
  const std::chrono::duration<double> s = std::chrono::steady_clock::now() - start;
  fmt::print(
      "{} graphs from seed {} ({} of branches, {} as shipped, {} with a symbolic size, {} under "
      "autocast, {} with less kept), {:.0f} nodes each, in {:.0f} s: {} elements compared, {} left "
      "open by rounding, {} graphs refused as unsupported, {} differ\n",
      totals.graphs, seed, totals.branches, totals.shipping, totals.symbolic, totals.cast,
      totals.again,
      static_cast<double>(totals.nodes) / static_cast<double>(std::max<int64_t>(totals.graphs, 1)),
      s.count(), totals.elements, totals.left_open, totals.unsupported, totals.wrong);
  return totals.wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace cleave::random

int main(int argc, char** argv) {
  return cleave::random::exit_status(argc, argv, cleave::random::run);
}
