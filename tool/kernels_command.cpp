// cleave kernels G.clv: the kernels that a graph becomes, and what they move.
#include "compile/plan_program.h"
#include "cut/exact_partition.h"
#include "grad/grad.h"
#include "inspect/traffic.h"
#include "ir/specialize.h"
#include "op/registry.h"
#include "tool/command.h"
#include "tool/graph_file.h"

namespace cleave::tool {
namespace {

struct Options {
  std::string graph, fuse = "on";
  bool grad = false, json = false;
};

// Symbolic sizes at their hints.
Result<std::vector<KernelTraffic>> kernels_of(const Graph& g, const OpRegistry& ops, bool fuse) {
  SymbolValues values;
  for (const Placeholder& p : g.placeholders())
    if (p.role == Role::symint)
      values[g.name(p.value)] = g.env().hint_of(Dim::symbol(g.name(p.value)));
  CLEAVE_TRY(Graph graph, specialize(g, values));
  CLEAVE_CHECK(prepare_graph(graph, ops, fuse));
  runtime::GemmCache products;
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

struct Report {
  std::vector<KernelTraffic> kernels;
  std::vector<std::string> saved;
};

// Forward and backward, cut where their kernels move least: the cuts of mode exact are tried.
Result<Report> kernels_of_halves(Graph joint, const OpRegistry& ops, bool fuse) {
  constexpr size_t most_cuts = 64;
  CLEAVE_TRY(const JointView view, JointView::make(joint));
  CLEAVE_TRY(CutGraph graph, CutGraph::make(view, {}, Returned::free));
  CLEAVE_TRY(const ExactCut exact, ExactCut::make(std::move(graph)));
  std::optional<Report> best;
  const size_t step = (exact.points().size() + most_cuts - 1) / most_cuts;
  for (size_t k = 0; k < exact.points().size(); k += step) {
    CLEAVE_TRY(const Partition cut, exact.partition_at(k));
    Report report;
    for (const Graph* half : {&cut.forward, &cut.backward}) {
      CLEAVE_TRY(const auto kernels, kernels_of(without_placeholders(*half), ops, fuse));
      report.kernels.insert(report.kernels.end(), kernels.begin(), kernels.end());
    }
    for (const SavedValue& v : cut.saved) report.saved.push_back(v.name);
    if (!best || total_bytes(report.kernels) < total_bytes(best->kernels))
      best = std::move(report);
  }
  return *std::move(best);
}

Status run(const Options& o) {
  if (o.fuse != "on" && o.fuse != "off")
    return user_error("--fuse {}: expected on or off", o.fuse);
  CLEAVE_TRY(OpRegistry ops, core_ops());
  CLEAVE_TRY(Program p, read_program(o.graph, ops));
  Report report;
  const bool fuse = o.fuse == "on";
  if (o.grad) {
    if (!p.main.is_joint()) { CLEAVE_TRY(p.main, make_joint(p.main, ops)); }
    CLEAVE_TRY(report, kernels_of_halves(std::move(p.main), ops, fuse));
  } else {
    CLEAVE_TRY(report.kernels, kernels_of(p.main, ops, fuse));
  }
  const double elements = static_cast<double>(total_bytes(report.kernels)) / 4;
  if (!o.json) {
    for (const KernelTraffic& k : report.kernels)
      fmt::print("{:<8} %{:<24} reads {:>12} B, writes {:>12} B\n", k.kind, k.name, k.read,
                 k.written);
    fmt::print("{} kernels move {:.10g} elements of 4 bytes\n", report.kernels.size(), elements);
    if (o.grad) {
      fmt::print("saved:");
      for (const std::string& name : report.saved) fmt::print(" %{}", name);
      fmt::print("\n");
    }
    return {};
  }
  nlohmann::ordered_json out;
  out["kernels"] = nlohmann::ordered_json::array();
  for (const KernelTraffic& k : report.kernels)
    out["kernels"].push_back({{"name", k.name},
                              {"kind", k.kind},
                              {"read", static_cast<double>(k.read) / 4},
                              {"written", static_cast<double>(k.written) / 4}});
  out["elements"] = elements;
  out["saved"] = report.saved;
  print_json(out);
  return {};
}

}  // namespace

Command kernels_command() {
  return {"kernels", "the kernels that a graph becomes, and the elements that they move",
          "  cleave kernels gpt.clv --grad", [](OptionList& options) {
            auto o = std::make_shared<Options>();
            options.required("GRAPH", o->graph, "a graph; - is stdin");
            options.flag("--grad", o->grad, "its forward and backward, cut where they move least");
            options.option("--fuse", o->fuse, "on or off: a kernel for each call");
            options.flag("--json", o->json, "one JSON object: kernels, elements, saved");
            return [o] { return run(*o); };
          }};
}

}  // namespace cleave::tool
