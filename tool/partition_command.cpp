// cleave partition G.clv: cuts a joint graph, or the joint graph of a forward graph, in two.
#include <chrono>

#include "base/byte_size.h"
#include "compile/stage_planner.h"
#include "cut/default_partition.h"
#include "cut/pytorch_partition.h"
#include "exec/measure_call.h"
#include "op/registry.h"
#include "remat/budget_partition.h"
#include "remat/explain_cut.h"
#include "remat/parse_budget.h"
#include "tool/command.h"
#include "tool/cut_pictures.h"
#include "tool/graph_file.h"
#include "tool/joint_graph.h"
#include "tool/named_files.h"
#include "tool/pytorch_rules.h"
#include "tool/target_option.h"

namespace cleave::tool {
namespace {

struct Options {
  std::string graph, mode = "exact", budget, saved_bytes, forward, backward;
  std::string solver, estimator, plot;  // empty: the default solver and estimator, no plot
  PytorchRules rules;
  JointOptions joint;
  TargetOption target;
  bool explain = false, json = false;
};

// The value that the option names; the first one if the option isn't given.
template <class E>
Result<E> choice(const char* option, const std::string& text,
                 std::initializer_list<std::pair<const char*, E>> all) {
  if (text.empty()) return all.begin()->second;
  std::string names;
  for (const auto& [name, value] : all) {
    if (text == name) return value;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  }
  return user_error("{} {}: expected one of {}", option, text, names);
}

Result<PytorchOptions> pytorch_options(const Options& o) {
  PytorchOptions options;
  if (!o.budget.empty() && o.mode == "pytorch") {
    CLEAVE_TRY(options.budget, pytorch_budget(o.budget));
  }
  CLEAVE_TRY(options.solver, choice<KnapsackSolver>("--solver", o.solver,
                                                    {{"dp", KnapsackSolver::dp},
                                                     {"greedy", KnapsackSolver::greedy},
                                                     {"ilp", KnapsackSolver::ilp}}));
  CLEAVE_TRY(options.estimator, choice<RuntimeEstimator>("--estimator", o.estimator,
                                                         {{"flops", RuntimeEstimator::flops},
                                                          {"profile", RuntimeEstimator::profile},
                                                          {"testing", RuntimeEstimator::testing}}));
  CLEAVE_CHECK(o.rules.apply(options));
  return options;
}

Result<Partition> cut_as_pytorch(const Options& o, Graph& joint, const OpRegistry& ops,
                                 const StageOptions& compile) {
  CLEAVE_TRY(PytorchOptions options, pytorch_options(o));
  CallTimer timer(ops, {.target = compile.target});
  options.measure = [&](const Graph& g, NodeId n) { return timer.measure(g, n); };
  CLEAVE_CHECK(simplify_as_pytorch(joint));
  return pytorch_partition(joint, options);
}

// What is reported besides the partition itself.
struct Figures {
  std::optional<int64_t> planned_peak, lower_bound, budget;
  int64_t cost_ns = 0;
  double solve_ms = 0;
  std::vector<std::string> explanation = {};  // of mode exact, a line for each value
};

// A line for each value; with the peak at the corner that it names, if that is known.
std::vector<std::string> explanation_lines(const ExactCut& exact, const Partition& cut,
                                           ProgramPlanner& planner) {
  std::vector<size_t> points(exact.frontier().corners().size());  // by corner
  for (size_t k = 0; k < exact.points().size(); ++k)
    if (const int32_t corner = exact.points()[k].corner; corner >= 0)
      points[static_cast<size_t>(corner)] = k;
  // The halves of each corner must be lowered for its peak: too slow for many corners of a large
  // graph.
  constexpr size_t max_lowered = 200000;
  const bool with_peaks = points.size() * exact.graph().joint().graph().node_count() <= max_lowered;
  CutPeaks peaks(exact, planner);
  std::vector<std::string> lines;
  for (const ValueExplanation& s : explain_cut(exact, cut)) {
    const char* fate = s.fate == Fate::saved        ? "saved"
                       : s.fate == Fate::recomputed ? "recomputed"
                                                    : "forward";
    std::string line = fmt::format("{:>12} B  {:>10} ns again  {:<10}  %{}: {}", s.bytes,
                                   s.recompute_ns, fate, s.name, s.reason);
    if (!s.change.empty()) line += "; " + s.change;
    if (with_peaks && s.corner && *s.corner < points.size())
      if (const Result<ForwardBackwardPeak> peak = peaks.at(points[*s.corner]); peak.ok())
        line += fmt::format(", at a peak of {} B", peak->peak());
    lines.push_back(std::move(line));
  }
  return lines;
}

Result<Partition> cut_exactly(const Options& o, Graph& joint, ProgramPlanner& planner,
                              Figures& figures) {
  simplify_joint(joint);
  MemoryBudget budget;
  if (!o.budget.empty()) { CLEAVE_TRY(budget, parse_budget(o.budget)); }
  const Returned returned = o.saved_bytes.empty() ? Returned::free : Returned::counted;
  CLEAVE_TRY(const ExactCut exact, ExactCut::of(joint, planner.rates(), returned));
  if (!o.saved_bytes.empty()) {
    if (budget.given()) return user_error("--budget and --saved-bytes: expected one of them");
    CLEAVE_TRY(const int64_t bytes, parse_byte_size(o.saved_bytes, "--saved-bytes"));
    CLEAVE_TRY(const flow::BudgetChoice found, exact.within(bytes));
    CLEAVE_TRY(Partition cut, exact.partition(found.choice.recompute));
    if (o.explain) figures.explanation = explanation_lines(exact, cut, planner);
    return cut;
  }
  if (!budget.given()) {
    CLEAVE_TRY(Partition cut, exact.partition_at(0));
    if (o.explain) figures.explanation = explanation_lines(exact, cut, planner);
    return cut;
  }
  CLEAVE_TRY(BudgetPartition found, cut_within(exact, budget, planner));
  if (o.explain) figures.explanation = explanation_lines(exact, found.cut, planner);
  figures.lower_bound = found.lower_bound_bytes;
  CLEAVE_TRY(const ForwardBackwardPeak whole, CutPeaks(exact, planner).at(0));
  figures.budget = budget.bytes(whole.peak());
  return std::move(found.cut);
}

Result<Partition> cut_in_mode(const Options& o, Graph& joint, const OpRegistry& ops,
                              const StageOptions& compile, Figures& figures) {
  StagePlanner planner(ops, compile);
  const auto begin = std::chrono::steady_clock::now();
  Result<Partition> cut = o.mode == "pytorch" ? cut_as_pytorch(o, joint, ops, compile)
                          : o.mode == "exact" ? cut_exactly(o, joint, planner, figures)
                                              : default_partition(joint);
  figures.solve_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  if (!cut.ok()) return cut;
  figures.cost_ns = recompute_cost_ns(joint, *cut, planner.rates());
  // If the halves can't be lowered, the peak isn't known.
  if (Result<ForwardBackwardPeak> peak = forward_backward_peak(joint, *cut, planner); peak.ok()) {
    figures.planned_peak = peak->peak();
    if (!figures.lower_bound) figures.lower_bound = std::min(peak->between, peak->peak());
  }
  return cut;
}

Json to_json(const Partition& p, const Figures& figures, const Target& target) {
  const auto or_null = [](const std::optional<int64_t>& n) { return n ? Json(*n) : Json(); };
  Json out;
  out["saved"] = Json::array();
  for (const SavedValue& v : p.saved)
    out["saved"].push_back(
        {{"name", v.name}, {"bytes", v.bytes}, {"placeholder", v.placeholder}, {"why", v.why}});
  out["recomputed"] = Json::array();
  for (const RecomputedValue& v : p.recomputed)
    out["recomputed"].push_back(
        {{"name", v.name}, {"bytes", v.bytes}, {"flops", v.flops}, {"why", v.why}});
  out["saved_bytes"] = p.saved_bytes;
  out["saved_activation_bytes"] = p.saved_activation_bytes;
  out["recompute_flops"] = p.recompute_flops;
  out["recompute_cost_ns"] = figures.cost_ns;
  out["forward"] = {{"inputs", p.forward_arity.inputs}, {"outputs", p.forward_arity.outputs}};
  out["backward"] = {{"inputs", p.backward_arity.inputs}, {"outputs", p.backward_arity.outputs}};
  out["planned_peak_bytes"] = or_null(figures.planned_peak);
  out["lower_bound_bytes"] = or_null(figures.lower_bound);
  out["solve_ms"] = figures.solve_ms;
  out["target"] = target.text();
  return out;
}

void explain(std::FILE* to, const Partition& p, const Figures& figures) {
  for (const std::string& line : figures.explanation) fmt::print(to, "{}\n", line);
  if (!figures.explanation.empty()) return;
  for (const SavedValue& v : p.saved)
    fmt::print(to, "{:>14} B  saved       %{}{}: {}\n", v.bytes, v.name,
               v.placeholder ? " (placeholder)" : "", v.why);
  for (const RecomputedValue& v : p.recomputed)
    fmt::print(to, "{:>14} B  recomputed  %{} ({} flops): {}\n", v.bytes, v.name, v.flops, v.why);
}

Status plot(const Options& o, const Graph& given, const Graph& joint, const Partition& cut,
            const Figures& figures, const OpRegistry& ops, const StageOptions& compile) {
  CLEAVE_TRY(PytorchOptions options, pytorch_options(o));
  CallTimer timer(ops, {.target = compile.target});
  options.measure = [&](const Graph& g, NodeId n) { return timer.measure(g, n); };
  CLEAVE_CHECK(plot_frontier(o.plot, given, options, compile.target.rates, &cut));
  return plot_cut(o.plot, joint, cut, figures.budget, ops, compile);
}

Status run(const Options& o) {
  if (o.mode != "default" && o.mode != "exact" && o.mode != "pytorch")
    return user_error("--mode {}: expected default, exact or pytorch", o.mode);
  if (o.mode == "default" && !o.budget.empty())
    return user_error("--budget: mode default saves what the backward reads and takes none");
  if (o.mode != "exact" && !o.saved_bytes.empty())
    return user_error("--saved-bytes: of mode exact alone");
  if (const auto options = pytorch_options(o); !options.ok()) return Failure(options.failure());
  if (o.mode != "pytorch" && (o.rules.given() || !o.solver.empty() || !o.estimator.empty()))
    return user_error(
        "--solver, --estimator, --ban, --aggressive, --recompute-views, --pay-for-params, "
        "--max-distance: of mode pytorch alone");
  StageOptions compile;
  CLEAVE_TRY(compile.target, o.target.target());
  CLEAVE_CHECK(check_files({{"GRAPH", o.graph}},
                           {{"--forward", o.forward}, {"--backward", o.backward}},
                           o.json ? Stdout::json : Stdout::free));
  CLEAVE_TRY(OpRegistry ops, core_ops());
  CLEAVE_TRY(Program p, read_program(o.graph, ops));
  CLEAVE_CHECK(make_joint_graph(p.main, ops, o.joint));
  Figures figures;
  const Graph given = o.plot.empty() ? Graph() : p.main;
  Result<Partition> made = cut_in_mode(o, p.main, ops, compile, figures);
  if (!made.ok() && !o.plot.empty() && o.mode == "exact")
    CLEAVE_CHECK(plot_conflict(o.plot, p.main));
  CLEAVE_TRY(const Partition cut, std::move(made));
  if (!o.plot.empty()) CLEAVE_CHECK(plot(o, given, p.main, cut, figures, ops, compile));
  if (!o.forward.empty()) CLEAVE_CHECK(write_text(o.forward, print(cut.forward)));
  if (!o.backward.empty()) CLEAVE_CHECK(write_text(o.backward, print(cut.backward)));
  if (o.json) return print_json(to_json(cut, figures, compile.target));
  std::FILE* const to = goes_to_stdout(o.forward) || goes_to_stdout(o.backward) ? stderr : stdout;
  if (o.explain) explain(to, cut, figures);
  fmt::print(to,
             "forward {} -> {}, backward {} -> {}; {} values saved, {} B ({} B of activations); "
             "{:.3f} ms recomputed; planned peak {} B\n",
             cut.forward_arity.inputs, cut.forward_arity.outputs, cut.backward_arity.inputs,
             cut.backward_arity.outputs, cut.saved.size(), cut.saved_bytes,
             cut.saved_activation_bytes, static_cast<double>(figures.cost_ns) / 1e6,
             figures.planned_peak ? std::to_string(*figures.planned_peak) : "unknown");
  return {};
}

}  // namespace

Command partition_command() {
  return {"partition", "cut a joint graph into forward and backward",
          "  cleave partition model.clv --explain --forward fwd.clv --backward bwd.clv",
          [](OptionList& options) {
            auto o = std::make_shared<Options>();
            options.required("GRAPH", o->graph, "a forward or a joint graph; - is stdin");
            options.option("--mode", o->mode,
                           "exact (the best cut), pytorch (as its partitioner), default (what the "
                           "backward reads is saved)");
            o->joint.add_to(options);
            o->target.add_to(options);
            options.option("--budget", o->budget,
                           "exact: of the peak of both halves (64MiB, 60% of that with nothing "
                           "recomputed); pytorch: a part of the saved bytes (0.25, 25%)");
            options.option("--saved-bytes", o->saved_bytes,
                           "exact: the cheapest cut that saves at most so much (64MiB)");
            options.option("--solver", o->solver, "pytorch: of the knapsack: dp, greedy, ilp");
            options.option("--estimator", o->estimator,
                           "pytorch: of time: flops, testing, profile (measured)");
            o->rules.add_to(options);
            options.option("--forward", o->forward, "where the forward half goes");
            options.option("--backward", o->backward, "where the backward half goes");
            options.option("--plot", o->plot,
                           "a folder for frontier.svg, memory.svg, cut.svg, or conflict.svg");
            options.flag("--explain", o->explain, "say for each value what happens to it, and why");
            options.flag("--json", o->json, "print one JSON object");
            return [o] { return run(*o); };
          }};
}

}  // namespace cleave::tool
