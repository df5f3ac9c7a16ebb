// cleave partition G.clv: cuts a joint graph, or the joint graph of a forward graph, in two.
#include "exec/measure_call.h"
#include "op/registry.h"
#include "tool/command.h"
#include "tool/cut_choice.h"
#include "tool/cut_pictures.h"
#include "tool/device_option.h"
#include "tool/graph_file.h"
#include "tool/joint_graph.h"
#include "tool/named_files.h"
#include "tool/target_option.h"

namespace cleave::tool {
namespace {

struct Options {
  std::string graph, forward, backward, plot;  // plot: a folder
  CutOptions cut;
  JointOptions joint;
  TargetOption target;
  DeviceOption device;
  bool explain = false, statistics = false, json = false;
};

Json to_json(const std::vector<OperatorCount>& operators) {
  Json out = Json::array();
  for (const OperatorCount& c : operators)
    out.push_back({{"op", c.op},
                   {"forward", c.forward},
                   {"backward", c.backward},
                   {"recomputed", c.recomputed}});
  return out;
}

Json to_json(const std::vector<ReasonCount>& reasons) {
  Json out = Json::array();
  for (const ReasonCount& r : reasons)
    out.push_back({{"why", r.why},
                   {"saved", r.saved},
                   {"saved_bytes", r.saved_bytes},
                   {"recomputed", r.recomputed},
                   {"recomputed_bytes", r.recomputed_bytes}});
  return out;
}

Json to_json(const PytorchAccount& account) {
  Json bans = Json::array(), items = Json::array();
  for (const auto& [rule, calls] : account.bans) bans.push_back({{"rule", rule}, {"calls", calls}});
  for (const PytorchAccount::Item& i : account.items)
    items.push_back(
        {{"name", i.name}, {"bytes", i.bytes}, {"runtime", i.runtime}, {"kept", i.kept}});
  return {{"step", name_of(account.step)},
          {"bans", std::move(bans)},
          {"range_bytes", account.range_bytes},
          {"capacity_bytes", account.capacity_bytes},
          {"items", std::move(items)}};
}

Json to_json(const Graph& joint, const FoundCut& cut, const Target& target) {
  const Partition& p = cut.partition;
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
  out["recompute_cost_ns"] = cut.cost_ns;
  out["forward"] = {{"inputs", p.forward_arity.inputs}, {"outputs", p.forward_arity.outputs}};
  out["backward"] = {{"inputs", p.backward_arity.inputs}, {"outputs", p.backward_arity.outputs}};
  out["planned_peak_bytes"] = or_null(cut.planned_peak);
  out["lower_bound_bytes"] = or_null(cut.lower_bound);
  out["solve_ms"] = cut.solve_ms;
  out["operators"] = to_json(count_operators(joint, p));
  out["decided"] = to_json(reasons_of(cut));
  out["pytorch"] = cut.account ? to_json(*cut.account) : Json();
  out["target"] = target.text();
  return out;
}

void explain(std::FILE* to, const FoundCut& cut) {
  for (const ValueExplanation& s : cut.explanation) {
    const char* fate = s.fate == Fate::saved        ? "saved"
                       : s.fate == Fate::recomputed ? "recomputed"
                                                    : "forward";
    fmt::print(to, "{:>12} B  {:>10} ns again  {:<10}  %{}: {}{}\n", s.bytes, s.recompute_ns, fate,
               s.name, s.reason, s.change.empty() ? "" : "; " + s.change);
  }
  if (!cut.explanation.empty()) return;
  for (const SavedValue& v : cut.partition.saved)
    fmt::print(to, "{:>14} B  saved       %{}{}: {}\n", v.bytes, v.name,
               v.placeholder ? " (placeholder)" : "", v.why);
  for (const RecomputedValue& v : cut.partition.recomputed)
    fmt::print(to, "{:>14} B  recomputed  %{} ({} flops): {}\n", v.bytes, v.name, v.flops, v.why);
}

void print_account(std::FILE* to, const PytorchAccount& account) {
  fmt::print(to, "the answer is {}\n", name_of(account.step));
  for (const auto& [rule, calls] : account.bans)
    fmt::print(to, "{:>6} banned    {}\n", calls, rule);
  if (account.items.empty()) return;
  fmt::print(to, "of {} B the knapsack may keep {} B\n", account.range_bytes,
             account.capacity_bytes);
  for (const PytorchAccount::Item& i : account.items)
    fmt::print(to, "{:>14} B  {:<13}  %{}: run time {}\n", i.bytes,
               i.kept ? "kept" : "may run again", i.name, i.runtime);
}

void print_statistics(std::FILE* to, const Graph& joint, const FoundCut& cut) {
  fmt::print(to, "{:<32} {:>8} {:>9} {:>11}\n", "operator", "forward", "backward", "recomputed");
  for (const OperatorCount& c : count_operators(joint, cut.partition))
    fmt::print(to, "{:<32} {:>8} {:>9} {:>11}\n", c.op, c.forward, c.backward, c.recomputed);
  for (const ReasonCount& r : reasons_of(cut))
    fmt::print(to, "{:>6} saved, {:>12} B; {:>6} recomputed, {:>12} B  {}\n", r.saved,
               r.saved_bytes, r.recomputed, r.recomputed_bytes, r.why);
  if (cut.account) print_account(to, *cut.account);
}

Status plot(const Options& o, const Graph& given, const Graph& joint, const FoundCut& cut,
            const OpRegistry& ops, const StageOptions& compile) {
  CLEAVE_TRY(const PytorchOptions options, o.cut.pytorch());
  CallTimer timer(ops, {.target = compile.target});
  CLEAVE_CHECK(plot_frontier(o.plot, given, options, compile.target.rates, &cut.partition,
                             [&](const Graph& g, NodeId n) { return timer.measure(g, n); }));
  return plot_cut(o.plot, joint, cut.partition, cut.budget, ops, compile);
}

// What was written of a cut that failed stands behind its error.
Status with_pictures(Failure failure, const Options& o, const Graph& joint,
                     const MachineRates& rates) {
  CLEAVE_TRY(PytorchOptions options, o.cut.pytorch());
  CLEAVE_TRY(const std::string files,
             plot_conflict(o.plot, joint, o.cut.mode == "pytorch" ? &options : nullptr, rates));
  if (!files.empty()) failure.message += "\n  Drawn in " + files;
  return failure;
}

Status run(const Options& o) {
  CLEAVE_CHECK(o.cut.check());
  StageOptions compile;
  CLEAVE_TRY(compile.target, o.target.target());
  CLEAVE_CHECK(check_files({{"GRAPH", o.graph}},
                           {{"--forward", o.forward}, {"--backward", o.backward}},
                           o.json ? Stdout::json : Stdout::free));
  CLEAVE_TRY(OpRegistry ops, core_ops());
  CLEAVE_TRY(Program p, read_program(o.graph, ops));
  CLEAVE_CHECK(o.device.apply(p.main, ops, compile));
  CLEAVE_CHECK(make_joint_graph(p.main, ops, o.joint));
  const Graph given = o.plot.empty() ? Graph() : p.main;
  // The reasons of mode exact are counted from its explanation.
  const Explained explained = o.explain                ? Explained::with_peaks
                              : o.statistics || o.json ? Explained::reasons
                                                       : Explained::no;
  Result<FoundCut> made = find_cut(o.cut, p.main, ops, compile, explained);
  if (!made.ok() && !o.plot.empty())
    return with_pictures(made.failure(), o, p.main, compile.target.rates);
  CLEAVE_TRY(const FoundCut found, std::move(made));
  const Partition& cut = found.partition;
  if (!o.plot.empty()) CLEAVE_CHECK(plot(o, given, p.main, found, ops, compile));
  if (!o.forward.empty()) CLEAVE_CHECK(write_text(o.forward, print(cut.forward)));
  if (!o.backward.empty()) CLEAVE_CHECK(write_text(o.backward, print(cut.backward)));
  if (o.json) return print_json(to_json(p.main, found, compile.target));
  std::FILE* const to = goes_to_stdout(o.forward) || goes_to_stdout(o.backward) ? stderr : stdout;
  if (o.explain) explain(to, found);
  if (o.statistics) print_statistics(to, p.main, found);
  fmt::print(to,
             "forward {} -> {}, backward {} -> {}; {} values saved, {} B ({} B of activations); "
             "{:.3f} ms recomputed; planned peak {} B\n",
             cut.forward_arity.inputs, cut.forward_arity.outputs, cut.backward_arity.inputs,
             cut.backward_arity.outputs, cut.saved.size(), cut.saved_bytes,
             cut.saved_activation_bytes, static_cast<double>(found.cost_ns) / 1e6,
             found.planned_peak ? std::to_string(*found.planned_peak) : "unknown");
  return {};
}

}  // namespace

Command partition_command() {
  return {"partition", "cut a joint graph into forward and backward",
          "  cleave partition model.clv --explain --forward fwd.clv --backward bwd.clv",
          [](OptionList& options) {
            auto o = std::make_shared<Options>();
            options.required("GRAPH", o->graph, "a forward or a joint graph; - is stdin");
            o->joint.add_to(options);
            o->target.add_to(options);
            o->device.add_to(options);
            o->cut.add_to(options);
            options.option("--forward", o->forward, "where the forward half goes");
            options.option("--backward", o->backward, "where the backward half goes");
            options.option("--plot", o->plot,
                           "a folder for frontier.svg, memory.svg, cut.svg; of a cut that fails "
                           "conflict.svg, network.svg, network.dot");
            options.flag("--explain", o->explain, "say for each value what happens to it, and why");
            options.flag("--statistics", o->statistics,
                         "calls of each operator in both halves, how many values each rule "
                         "decided; pytorch: its bans, and what the knapsack kept");
            options.flag("--json", o->json, "print one JSON object");
            return [o] { return run(*o); };
          }};
}

}  // namespace cleave::tool
