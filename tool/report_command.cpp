// cleave report G.clv -o r.html: what a graph becomes, on one page.
#include "compile/plan_program.h"
#include "compile/stages.h"
#include "inspect/cut_plots.h"
#include "inspect/program_phases.h"
#include "inspect/report.h"
#include "ir/specialize.h"
#include "op/registry.h"
#include "partial/supported.h"
#include "remat/budget_family.h"
#include "remat/parse_budget.h"
#include "runtime/thread_pool.h"
#include "tool/command.h"
#include "tool/cut_choice.h"
#include "tool/graph_file.h"
#include "tool/joint_graph.h"
#include "tool/kernel_times.h"
#include "tool/named_files.h"
#include "tool/static_sizes.h"
#include "tool/target_option.h"

namespace cleave::tool {
namespace {

// Beyond these many calls the searches for a frontier take longer than a page is waited for.
constexpr size_t most_for_trades = 20000, most_for_programs = 5000;
constexpr size_t most_groups = 120;
constexpr int64_t most_spans = 100'000;

struct Options {
  std::string graph, out, by;
  JointOptions joint;
  CutOptions cut;
  TargetOption target;
  int runs = 5, threads = 0;
  bool grad = false, json = false;
};

class Reporter {
 public:
  Reporter(const Options& o, const OpRegistry& ops, StageOptions stages, Graph graph)
      : o_(o), ops_(ops), stages_(std::move(stages)), graph_(std::move(graph)) {}

  Result<ReportData> all() {
    data_.file = o_.graph == "-" ? "stdin" : o_.graph;
    data_.target = stages_.target.text();
    data_.graph = &graph_;
    CLEAVE_CHECK(group());
    cover();
    if (graph_.is_joint()) cut();
    if (Status s = compile(); !s.ok()) {
      if (s.failure().kind != ErrorKind::unsupported) return Failure(s.failure());
      leave_out("kernels, memory over time, whole programs", s.failure());
    }
    return std::move(data_);
  }

 private:
  void leave_out(const std::string& what, const Failure& why) {
    data_.left_out.push_back(fmt::format("{}: {}", what, why.message));
  }
  void leave_out(const std::string& what, size_t most) {
    data_.left_out.push_back(
        fmt::format("{}: the graph has {} calls, more than {}", what, graph_.node_count(), most));
  }

  Status group() {
    GroupBy by = best_grouping(graph_);
    if (o_.by == "module") by = GroupBy::module;
    if (o_.by == "line") by = GroupBy::line;
    if (o_.by == "operator") by = GroupBy::op;
    data_.groups = group_calls(graph_, by, most_groups);
    return {};
  }

  void cover() {
    std::map<std::string, CoveredOperator> of;
    for (NodeId n = graph_.first_node(); n.valid(); n = graph_.next_node(n)) {
      CoveredOperator& c = of[graph_.node(n).op->name];
      ++c.calls;
      const std::optional<std::string> why = reason_outside(graph_, n, Device::cpu());
      if (!why) ++c.compiled;
      if (why && c.reason.empty()) c.reason = *why;
    }
    for (auto& [op, c] : of) {
      c.op = op;
      data_.coverage.push_back(std::move(c));
    }
  }

  void cut() {
    Graph joint = graph_;
    Result<FoundCut> found = find_cut(o_.cut, joint, ops_, stages_, Explained::reasons);
    if (!found.ok()) return leave_out("the cut", found.failure());
    cut_ = std::move(*found);
    ReportCut out{.mode = o_.cut.mode, .partition = &cut_->partition};
    out.explanation = cut_->explanation;
    out.operators = count_operators(joint, cut_->partition);
    out.reasons = reasons_of(*cut_);
    out.account = cut_->account;
    if (graph_.node_count() > most_for_trades) {
      leave_out("the frontier of cuts", most_for_trades);
    } else if (Result<std::vector<TradeLine>> lines = trade_lines(graph_, {}, stages_.target.rates);
               lines.ok()) {
      out.trades = std::move(*lines);
      out.trades.push_back(chosen_trade(joint, cut_->partition, stages_.target.rates));
    } else {
      leave_out("the frontier of cuts", lines.failure());
    }
    if (Result<MemoryProfile> memory = memory_profile(joint, cut_->partition, ops_, stages_);
        memory.ok())
      out.memory = std::move(*memory);
    data_.cut = std::move(out);
  }

  // The program as `cleave run` compiles it.
  Status compile() {
    StageOptions options = stages_;
    Graph g = graph_;
    if (o_.cut.mode == "pytorch" && g.is_joint()) {
      CLEAVE_TRY(options.partition, o_.cut.pytorch());
    } else if (!o_.cut.budget.empty()) {
      CLEAVE_TRY(options.memory_budget, parse_budget(o_.cut.budget));
    }
    CLEAVE_CHECK(programs(g, options));
    if (o_.runs > 0) {
      const Timeline timeline(options.executor, most_spans);
      CLEAVE_TRY(const KernelTimes times, time_kernels(g, ops_, options, o_.runs, &timeline));
      data_.spans = timeline.spans();
      data_.compiled = times.compiled;
      data_.copy_bytes_per_us = times.copy_bytes_per_us;
      data_.run_us = times.run_us;
      data_.runs = o_.runs;
      data_.threads = options.executor->threads();
      CLEAVE_CHECK(plan(std::move(g), options));
      // The same thunks, but that times leave jumps out.
      std::erase_if(data_.kernels, [](const ReportKernel& k) { return k.kind == "jump"; });
      if (times.kernels.size() != data_.kernels.size())
        return bug("report: {} steps were timed, {} are planned", times.kernels.size(),
                   data_.kernels.size());
      for (size_t k = 0; k < data_.kernels.size(); ++k) data_.kernels[k].us = times.kernels[k].us;
      return {};
    }
    return plan(std::move(g), options);
  }

  Status plan(Graph g, const StageOptions& options) {
    Report report;
    CLEAVE_CHECK(run_stages(Stage::verify, Stage::fuse, g, ops_, options, &report));
    if (data_.compiled.stages.empty()) data_.compiled = std::move(report);
    const std::shared_ptr<Backend> backend = backend_for(options);
    CLEAVE_TRY(const PlannedProgram planned, plan_program(g, *backend));
    for (const Thunk& thunk : planned.lowered.thunks) {
      const KernelTraffic t = traffic_of(planned.lowered, thunk);
      data_.kernels.push_back({.name = t.name,
                               .kind = t.kind,
                               .read = t.read,
                               .written = t.written,
                               .flops = t.flops,
                               .us = {}});
    }
    data_.memory = program_memory(planned, g);
    if (options.memory_budget.given() && peak_without_budget_)
      data_.budget = options.memory_budget.bytes(*peak_without_budget_);
    return {};
  }

  // What budgets choose among.
  Status programs(Graph g, const StageOptions& options) {
    const ProgramKind kind = kind_of(g);
    if (kind == ProgramKind::forward || options.partition) return {};
    if (g.node_count() > most_for_programs) {
      leave_out("whole programs in the frontier", most_for_programs);
      return {};
    }
    CLEAVE_CHECK(run_stages(Stage::verify, Stage::tags, g, ops_, options));
    const auto planner = std::make_shared<StagePlanner>(ops_, options);
    CLEAVE_TRY(BudgetFamily family,
               BudgetFamily::make(g, planner, kind == ProgramKind::step ? 1 : 0));
    CLEAVE_TRY(const std::vector<BudgetFamily::Trade> trades, family.trades(options.offload));
    CLEAVE_TRY(peak_without_budget_, family.peak_without_budget());
    for (const BudgetFamily::Trade& t : trades)
      data_.program_trades.push_back({t.peak_bytes, t.recompute_ns});
    return {};
  }

  const Options& o_;
  const OpRegistry& ops_;
  const StageOptions stages_;
  const Graph graph_;
  std::optional<FoundCut> cut_;
  std::optional<int64_t> peak_without_budget_;  // what a percentage counts from
  ReportData data_;
};

Json to_json(const ReportData& data, size_t bytes) {
  Json kernels = Json::array(), groups = Json::array(), warnings = Json::array(),
       left_out = Json::array(), outside = Json::array();
  for (const ReportKernel& k : data.kernels)
    kernels.push_back({{"name", k.name},
                       {"kind", k.kind},
                       {"read", k.read},
                       {"written", k.written},
                       {"us", k.us ? Json(*k.us) : Json()}});
  for (const CallGroup& g : data.groups.groups)
    groups.push_back({{"name", g.name},
                      {"calls", static_cast<int64_t>(g.calls.size())},
                      {"late", g.late},
                      {"parameter_bytes", g.parameter_bytes}});
  for (const Warning& w : data.compiled.warnings)
    warnings.push_back({{"code", w.code}, {"text", w.text}});
  for (const std::string& text : data.left_out) left_out.push_back(text);
  for (const CoveredOperator& c : data.coverage)
    if (c.compiled < c.calls)
      outside.push_back({{"op", c.op}, {"calls", c.calls - c.compiled}, {"reason", c.reason}});
  Json out = {{"bytes", bytes},
              {"calls", data.graph->node_count()},
              {"groups", std::move(groups)},
              {"kernels", std::move(kernels)},
              {"copy_gb_per_s", data.copy_bytes_per_us / 1e3},
              {"run_us", data.run_us},
              {"outside", std::move(outside)},
              {"warnings", std::move(warnings)},
              {"left_out", std::move(left_out)}};
  out["planned_peak_bytes"] = data.memory ? Json(data.memory->profile.planned_peak) : Json();
  out["saved_activation_bytes"] =
      data.cut ? Json(data.cut->partition->saved_activation_bytes) : Json();
  return out;
}

Status check(const Options& o) {
  if (o.runs < 0 || o.runs > 1'000'000)
    return user_error("--time {}: expected 0 to 1000000", o.runs);
  if (o.threads < 0 || o.threads > 1024)
    return user_error("--threads {}: expected 0 to 1024", o.threads);
  if (!o.by.empty() && o.by != "module" && o.by != "line" && o.by != "operator")
    return user_error("--by {}: expected module, line or operator", o.by);
  CLEAVE_CHECK(o.joint.choice.check());
  return o.cut.check();
}

Status report(const Options& o) {
  CLEAVE_CHECK(check(o));
  CLEAVE_CHECK(
      check_files({{"GRAPH", o.graph}}, {{"-o", o.out}}, o.json ? Stdout::json : Stdout::free));
  StageOptions stages;
  CLEAVE_TRY(stages.target, o.runs > 0 ? o.target.runnable() : o.target.target());
  CLEAVE_TRY(stages.executor, runtime::start_threads(o.threads));
  CLEAVE_TRY(OpRegistry ops, core_ops());
  CLEAVE_TRY(Program p, read_program(o.graph, ops));
  if (o.grad) {
    CLEAVE_CHECK(make_joint_graph(p.main, ops, o.joint));
  } else {
    CLEAVE_CHECK(bind_sizes(p.main, o.joint));
    CLEAVE_TRY(stages.autocast, o.joint.autocast.dtype());
    o.joint.choice.apply(stages);
    CLEAVE_CHECK(run_stages(Stage::autocast, Stage::pre_grad, p.main, ops, stages));
    stages.autocast.reset();
  }
  o.joint.choice.apply(stages);
  CLEAVE_TRY(Graph graph, graph_at_hints(p.main));
  Reporter reporter(o, ops, std::move(stages), std::move(graph));
  CLEAVE_TRY(const ReportData data, reporter.all());
  const std::string page = report_page(data);
  CLEAVE_CHECK(write_text(o.out, page));
  if (o.json) return print_json(to_json(data, page.size()));
  fmt::print(stderr, "{}: {} bytes, {} calls in {} groups, {} steps\n", o.out, page.size(),
             data.graph->node_count(), data.groups.groups.size(), data.kernels.size());
  return {};
}

}  // namespace

Command report_command() {
  return {
      "report", "what a graph becomes, as one page of HTML that loads nothing",
      "  cleave report model.clv --grad -o report.html\n"
      "  cleave report model.clv --grad --budget 60% -o less.html\n"
      "  cleave train --text book.txt --steps 0 --dump stages; cleave report stages/00_verify.clv "
      "-o step.html",
      [](OptionList& options) {
        auto o = std::make_shared<Options>();
        options.required("GRAPH", o->graph, "a graph; - is stdin");
        options.required("-o,--out", o->out, "where the page goes (.html); - is stdout");
        options.flag("--grad", o->grad,
                     "of its forward and backward, as `cleave run --grad` runs them");
        o->joint.add_to(options);
        o->target.add_to(options);
        o->cut.add_to(options);
        options.option("--by", o->by,
                       "how calls are grouped: module, line or operator; default: the first that "
                       "the graph's names and lines give");
        options.option("--time", o->runs,
                       "runs with made-up inputs that the kernels' times are the mean of; 0: none");
        options.option("--threads", o->threads, "of those runs; 0: one a core");
        options.flag("--json", o->json, "print the page's numbers as one JSON object");
        return [o] { return report(*o); };
      }};
}

}  // namespace cleave::tool
