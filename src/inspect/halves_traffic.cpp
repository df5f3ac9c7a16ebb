#include "inspect/halves_traffic.h"

#include <optional>

#include "compile/plan_program.h"
#include "compile/stages.h"
#include "cut/exact_partition.h"
#include "ir/specialize.h"
#include "lower/check_devices.h"

namespace cleave {

namespace {

Result<std::vector<KernelTraffic>> traffic_at(Stage last, const Graph& g, const OpRegistry& ops,
                                              const CompileOptions& options) {
  CLEAVE_CHECK(check_devices(g));
  SymbolValues values;
  for (const Placeholder& p : g.placeholders())
    if (p.role == Role::symint)
      values[g.name(p.value)] = g.env().hint_of(Dim::symbol(g.name(p.value)));
  CLEAVE_TRY(Graph graph, specialize(g, values));
  CLEAVE_CHECK(run_stages(Stage::verify, last, graph, ops, options));
  // What kernels move hangs on no target, only their workspaces do.
  runtime::GemmCache products(Target{});
  CLEAVE_TRY(const PlannedProgram program, measure_program(graph, products));
  return traffic_of(program.lowered);
}

// A saved placeholder is there already: nothing is written for it.
Graph without_placeholders(const Graph& g) {
  Graph out = g;
  std::vector<Return> returns;
  for (const Return& r : g.returns())
    if (g.value(r.value).def.valid() || r.kind != ReturnKind::result) returns.push_back(r);
  out.set_returns(std::move(returns));
  return out;
}

class Search {
 public:
  Search(const OpRegistry& ops, const CompileOptions& options) : ops_(ops), options_(options) {
    options_.memory_budget =
        MemoryBudget::percent(100);  // what runs again is for the search to say
  }

  Status try_points(const ExactCut& exact) {
    constexpr size_t most_points = 32;
    const size_t step = (exact.points().size() + most_points - 1) / most_points;
    for (size_t k = 0; k < exact.points().size(); k += step) {
      CLEAVE_TRY(const bool better, accept(exact, exact.recompute_at(k), false));
      if (better) chosen_ = exact.recompute_at(k);
    }
    return {};
  }
  // Calls whose result needn't be saved if their operand is in memory anyway, the last ones first.
  Status try_calls(const ExactCut& exact) {
    int tries = 64;
    for (size_t c = chosen_.size(); c-- > 0 && tries > 0;) {
      if (chosen_[c]) continue;
      std::vector<uint8_t> more = chosen_;
      more[c] = 1;
      --tries;
      Result<bool> better = accept(exact, more, true);
      if (better.ok() && *better) chosen_ = std::move(more);
    }
    return {};
  }
  HalvesTraffic take() { return *std::move(best_); }

 private:
  Result<bool> accept(const ExactCut& exact, const std::vector<uint8_t>& recompute, bool ties) {
    CLEAVE_TRY(const Partition cut, exact.partition(recompute));
    HalvesTraffic now;
    for (const Graph* half : {&cut.forward, &cut.backward}) {
      CLEAVE_TRY(const auto kernels,
                 traffic_at(Stage::fuse, without_placeholders(*half), ops_, options_));
      now.kernels.insert(now.kernels.end(), kernels.begin(), kernels.end());
    }
    for (const SavedValue& v : cut.saved) now.saved.push_back(v.name);
    const int64_t bytes = total_bytes(now.kernels);
    const int64_t limit = best_ ? total_bytes(best_->kernels) + (ties ? 1 : 0) : bytes + 1;
    if (bytes >= limit) return false;
    best_ = std::move(now);
    return true;
  }

  const OpRegistry& ops_;
  CompileOptions options_;
  std::optional<HalvesTraffic> best_;
  std::vector<uint8_t> chosen_;
};

}  // namespace

Result<std::vector<KernelTraffic>> graph_traffic(const Graph& g, const OpRegistry& ops,
                                                 const CompileOptions& options) {
  return traffic_at(Stage::cut, g, ops, options);
}

Result<HalvesTraffic> halves_traffic(const Graph& joint, const OpRegistry& ops,
                                     const CompileOptions& options) {
  CLEAVE_CHECK(check_devices(joint));
  CLEAVE_TRY(const JointView view, JointView::make(joint));
  Search search(ops, options);
  // A result is there anyway, but what is smaller may be worth writing beside it.
  for (const Returned returned : {Returned::free, Returned::counted}) {
    CLEAVE_TRY(CutGraph graph, CutGraph::make(view, {}, returned));
    CLEAVE_TRY(const ExactCut exact, ExactCut::make(std::move(graph)));
    CLEAVE_CHECK(search.try_points(exact));
    CLEAVE_CHECK(search.try_calls(exact));
  }
  return search.take();
}

}  // namespace cleave
