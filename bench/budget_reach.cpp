// How far memory budgets reach: what a training step takes at 85, 70, 60 and 50% of the peak that
// it has without a budget, placeholders (parameters, optimizer state, inputs) aside.
//
//   bench_budget_reach [MODEL | STEP.clv ...] [--peak] [--write FOLDER]
//
// By default all of models/step_models.h; --write writes their steps as MODEL.clv instead.
//
// STEP.clv is the traced graph of a step, as TrainStep::graph_text() gives it and the examples'
// --record writes it; its first result is the loss. For each budget: the planned peak and the time
// by the cost table, as a factor of the time without recomputation; "-" where no program was found.
// Then the least peak found and the bound that no program of these calls is below, with the call
// that needs it. --peak lists the largest values in memory at the least peak.
#include <fmt/format.h>
#include <chrono>
#include <fstream>
#include <iterator>

#include "backend/make_backend.h"
#include "bench/models/step_models.h"
#include "bench/timing.h"
#include "compile/plan_program.h"
#include "compile/stage_planner.h"
#include "compile/stages.h"
#include "cut/call_cost.h"
#include "inspect/program_memory.h"
#include "ir/text.h"
#include "op/registry.h"
#include "remat/budget_family.h"

namespace cleave::bench {
namespace {

constexpr size_t most_listed = 12;

std::string step_text(const std::string& name) {
  if (name.ends_with(".clv")) {
    std::ifstream in(name);
    if (!in) throw_failure(user_error("{}: can't be read", name));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  const StepModel m = make_step_model(name);
  return train_step(*m.module, m.loss, optim::AdamW({.lr = 1e-4}), m.specs,
                    {.compile = {.compiler = CompilerChoice::none}, .clip_norm = m.clip_norm})
      .graph_text();
}

int64_t time_of(const Graph& graph, const MachineRates& rates) {
  int64_t ns = 0;
  for (const NodeId n : graph.order()) ns += call_ns(graph, n, rates);
  return ns;
}

void list_peak(const Graph& graph) {
  const auto backend = make_backend(Target::here());
  const PlannedProgram planned = value_or_throw(plan_program(graph, *backend));
  const ProgramMemory memory = program_memory(planned, graph);
  const auto step = memory.peak_step;
  fmt::print("  at step {} of {}, %{}:\n", step, planned.lowered.thunks.size(),
             planned.lowered.thunks[step].name);
  for (size_t k = 0; k < std::min(most_listed, memory.at_peak.size()); ++k) {
    const KeptStorage& s = memory.at_peak[k];
    fmt::print("  {:>10.2f} MB  {:<13}{:<24} steps {} to {}\n", static_cast<double>(s.bytes) / 1e6,
               kept_names[static_cast<size_t>(s.kind)], s.name, s.first, s.last);
  }
}

void measure(const std::string& name, bool lists_peak) {
  const OpRegistry ops = value_or_throw(core_ops());
  Graph graph = value_or_throw(parse(step_text(name), name, ops)).main;
  StageOptions options;
  options.forward_results = 1;
  const double begin = thread_seconds();
  value_or_throw(run_stages(Stage::verify, Stage::tags, graph, ops, options));
  const auto planner = std::make_shared<StagePlanner>(ops, options);
  BudgetFamily family = value_or_throw(BudgetFamily::make(graph, planner, 1));
  const std::vector<BudgetFamily::Trade> trades = value_or_throw(family.trades());
  const double seconds = thread_seconds() - begin;
  const Graph whole = value_or_throw(family.program(0));
  const auto ns = static_cast<double>(time_of(whole, planner->rates()));
  const int64_t placeholders = value_or_throw(planner->calls(whole)).placeholder_bytes;
  const int64_t base = value_or_throw(family.peak_without_budget()) - placeholders;
  fmt::print("{:<16}{:>9.2f}", name.substr(name.rfind('/') + 1), static_cast<double>(base) / 1e6);
  for (const int percent : {100, 85, 70, 60, 50}) {
    const auto fits = [&](const BudgetFamily::Trade& t) {
      return t.peak_bytes - placeholders <= base * percent / 100;
    };
    const auto at = std::ranges::find_if(trades, fits);
    if (at == trades.end())
      fmt::print("{:>8}", "-");
    else
      fmt::print("{:>8.3f}", 1 + static_cast<double>(at->recompute_ns) / ns);
  }
  const ProgramTasks::Bound bound = value_or_throw(family.lower_bound());
  const auto percent_of = [&](int64_t bytes) {
    return 100.0 * static_cast<double>(bytes - placeholders) / static_cast<double>(base);
  };
  fmt::print("{:>8.1f}% at {:.2f}{:>8.1f}% {:<24}{:>8.2f}\n", percent_of(trades.back().peak_bytes),
             1 + static_cast<double>(trades.back().recompute_ns) / ns, percent_of(bound.bytes),
             bound.by, seconds);
  if (!lists_peak) return;
  for (size_t k = 0; k < family.members().size(); ++k)
    if (value_or_throw(family.peak(k)) == trades.back().peak_bytes)
      return list_peak(value_or_throw(family.program(k)));
}

void run(int argc, char** argv) {
  std::vector<std::string> names;
  std::string folder;
  bool lists_peak = false;
  for (int k = 1; k < argc; ++k)
    if (std::string(argv[k]) == "--peak")
      lists_peak = true;
    else if (std::string(argv[k]) == "--write" && k + 1 < argc)
      folder = argv[++k];
    else
      names.emplace_back(argv[k]);
  if (names.empty()) names = step_model_names();
  if (!folder.empty()) {
    for (const std::string& name : names)
      std::ofstream(folder + "/" + name + ".clv") << step_text(name);
    return;
  }
  fmt::print("{:<16}{:>9}{:>8}{:>8}{:>8}{:>8}{:>8}{:>17}{:>9} {:<24}{:>8}\n", "step", "MB", "100%",
             "85%", "70%", "60%", "50%", "least", "bound", "of", "s");
  for (const std::string& name : names) measure(name, lists_peak);
}

}  // namespace
}  // namespace cleave::bench

int main(int argc, char** argv) {
  try {
    cleave::bench::run(argc, argv);
    return 0;
  } catch (const cleave::Error& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
}
