// cleave opt G.clv --pass a,b: rewrites a graph by the named passes.
#include <filesystem>
#include <set>

#include "inspect/graph_drawing.h"
#include "op/registry.h"
#include "pass/host_rules.h"
#include "pass/pipeline.h"
#include "tool/command.h"
#include "tool/graph_file.h"
#include "tool/named_files.h"
#include "tool/pass_choice.h"

namespace cleave::tool {
namespace {

struct Options {
  std::string graph, passes, stage, rule, out, draw;
  PassChoice choice;
  bool list = false, json = false, rules = false;
};

size_t rules_of(const Pass& pass) { return pass.run ? 1 : pass.rules.size(); }

Json list_as_json() {
  Json passes = Json::array();
  for (const PassRow& row : pass_table()) {
    const Pass pass = row.pass();
    passes.push_back({{"name", pass.name},
                      {"stage", name_of(row.stage)},
                      {"rules", rules_of(pass)},
                      {"asked", row.asked},
                      {"summary", pass.summary}});
  }
  return {{"passes", std::move(passes)}};
}

void print_list() {
  size_t rules = 0;
  std::set<std::string> names;
  for (const PassRow& row : pass_table()) {
    const Pass pass = row.pass();
    if (!row.again) rules += std::max<size_t>(1, pass.rules.size());
    names.insert(pass.name);
    fmt::print("{:<9} {} {:<28} {:>3} {}  {}\n", name_of(row.stage), row.list, pass.name,
               rules_of(pass), pass.run ? "function" : "rules   ",
               row.asked ? pass.summary + " (where asked for)" : pass.summary);
  }
  fmt::print("{} passes, {} rules\n", names.size(), rules);
}

Json as_json(const std::vector<CompilePass>& reports) {
  Json passes = Json::array();
  for (const CompilePass& r : reports) {
    Json pass = {{"name", r.name}, {"matches", r.matches}, {"nodes", r.nodes}, {"ms", r.ms}};
    for (const RuleCount& c : r.rules)
      pass["rules"].push_back({{"name", c.rule},
                               {"matches", c.matches},
                               {"nodes", c.nodes},
                               {"refused", c.refused},
                               {"ms", c.ms}});
    passes.push_back(std::move(pass));
  }
  return {{"passes", std::move(passes)}};
}

void print_reports(const std::vector<CompilePass>& reports, bool rules) {
  for (const CompilePass& r : reports) {
    fmt::print(stderr, "{:<32} {:>6} matches {:>7} nodes {:>9.3f} ms\n", r.name, r.matches, r.nodes,
               r.ms);
    if (!rules) continue;
    for (const RuleCount& c : r.rules)
      fmt::print(stderr, "  {:<30} {:>6} matches {:>7} nodes {:>9.3f} ms {:>7} refused\n", c.rule,
                 c.matches, c.nodes, c.ms, c.refused);
  }
}

// --draw: a picture before the passes and one behind each of them, in which what it took away is
// red and what it made is green.
class PassPictures {
 public:
  PassPictures(std::string folder, const Graph& g) : folder_(std::move(folder)), before_(g) {}

  // The graph behind the pass; both pictures are written.
  Status after(const std::string& pass, const Graph& g) {
    if (folder_.empty()) return {};
    std::error_code error;
    std::filesystem::create_directories(folder_, error);
    if (error) return user_error("--draw {}: {}", folder_, error.message());
    ++number_;
    CLEAVE_CHECK(write(before_, "before", pass,
                       {.results = false, .marked = changed_calls(before_, g), .mark = "#ffd6d6"}));
    CLEAVE_CHECK(write(g, "after", pass,
                       {.results = false, .marked = changed_calls(g, before_), .mark = "#b2f2bb"}));
    before_ = g;
    return {};
  }

 private:
  Status write(const Graph& g, const char* when, const std::string& pass, GraphDrawing shown) {
    shown.title = fmt::format("@{} {} {}: {} calls, {} {}", g.name(), when, pass, g.node_count(),
                              shown.marked.size(), when == std::string("after") ? "new" : "gone");
    const bool readable = g.node_count() <= largest_graph_drawing;
    const std::string name =
        fmt::format("{:02}_{}_{}.{}", number_, pass, when, readable ? "svg" : "dot");
    return write_text((std::filesystem::path(folder_) / name).string(),
                      readable ? graph_svg(g, shown) : graph_dot(g, shown));
  }

  const std::string folder_;
  Graph before_;
  int number_ = 0;
};

Result<std::vector<CompilePass>> run_passes(const Options& o, Graph& g, const OpRegistry& ops) {
  CLEAVE_CHECK(o.choice.check());
  CompileOptions options;
  o.choice.apply(options);
  constexpr RuleTimes times = RuleTimes::measured;
  PassPictures pictures(o.draw, g);
  if (!o.stage.empty()) {
    if (!o.passes.empty()) return user_error("--stage and --pass: expected one of them");
    for (const PassStage stage : pass_stages) {
      if (name_of(stage) != o.stage) continue;
      CLEAVE_TRY(std::vector<CompilePass> reports, run_stage(stage, g, ops, options, times));
      CLEAVE_CHECK(pictures.after(o.stage, g));
      return reports;
    }
    return user_error("--stage {}: expected pre_grad, joint, freeze, post_grad or decomposed",
                      o.stage);
  }
  std::vector<CompilePass> reports;
  if (!o.rule.empty()) {
    CLEAVE_TRY(std::string text, read_text(o.rule));
    CompileOptions host;
    host.rules.push_back(
        {.name = std::filesystem::path(o.rule).stem().string(), .text = std::move(text)});
    CLEAVE_CHECK(run_host_rules(RulePoint::pre_grad, g, ops, host, times, reports));
    CLEAVE_CHECK(pictures.after(host.rules[0].name, g));
  }
  for (const std::string& name : split_names(o.passes)) {
    CLEAVE_TRY(const Pass pass, find_pass(name));
    CLEAVE_TRY(CompilePass report, run_pass(pass, g, ops, options, times));
    reports.push_back(std::move(report));
    CLEAVE_CHECK(pictures.after(pass.name, g));
  }
  return reports;
}

Status run(const Options& o) {
  if (o.list) {
    if (o.json) return print_json(list_as_json());
    print_list();
    return {};
  }
  if (o.graph.empty()) return user_error("GRAPH is missing: expected a graph's text, or --list");
  CLEAVE_CHECK(check_files({{"GRAPH", o.graph, true}, {"--rule", o.rule}}, {{"-o", o.out}},
                           o.json ? Stdout::json : Stdout::free));
  CLEAVE_TRY(OpRegistry ops, core_ops());
  CLEAVE_TRY(Program p, read_program(o.graph, ops));
  CLEAVE_TRY(const std::vector<CompilePass> reports, run_passes(o, p.main, ops));
  if (Status s = verify(p.main); !s.ok())
    return bug("opt: the passes made a wrong graph: {}", s.failure().message);
  if (!o.out.empty() || !o.json)
    CLEAVE_CHECK(write_text(o.out.empty() ? "-" : o.out, print(p.main)));
  if (o.json) return print_json(as_json(reports));
  print_reports(reports, o.rules);
  return {};
}

}  // namespace

Command opt_command() {
  return {"opt", "rewrite a graph by passes",
          "  cleave opt model.clv --pass fold_permute -o less.clv --json\n"
          "  cleave opt model.clv --pass fuse_addmm --draw pictures -o less.clv\n"
          "  cleave opt model.clv --stage joint --rules\n  cleave opt --list",
          [](OptionList& options) {
            auto o = std::make_shared<Options>();
            options.optional("GRAPH", o->graph, graph_help);
            options.option("--pass", o->passes, "passes by name, in their order: a,b");
            options.option("--rule", o->rule, "a file with the graphs @search and @replace");
            options.option("--stage", o->stage,
                           "all passes of pre_grad, joint, freeze, post_grad or decomposed");
            o->choice.add_to(options);
            options.option("-o", o->out,
                           "where the graph goes; - is stdout (default: stdout, with --json "
                           "nowhere)");
            options.option("--draw", o->draw,
                           "a folder for NN_PASS_before.svg and NN_PASS_after.svg, what the pass "
                           "took away in red, what it made in green (.dot beyond 200 calls)");
            options.flag("--list", o->list, "name all passes");
            options.flag("--rules", o->rules, "what became of each rule");
            options.flag("--json", o->json, "matches and times as JSON");
            return [o]() -> Status { return run(*o); };
          }};
}

}  // namespace cleave::tool
