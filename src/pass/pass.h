// A pass: a named transformation of a graph that preserves what it computes.
//
//   Pass fold_permute() {
//     return {.name = "fold_permute",
//             .summary = "two permutes in a row become one, or none",
//             .rules = {{.name = "compose", .search = {...}, .when = ..., .build = ...}}};
//   }
//
// It has either rules, which are applied until none matches, or a function for what patterns can't
// express. A pass is pure: it maps graph and options to a graph; a second run changes nothing.
#pragma once
#include "rewrite/rule.h"

namespace cleave {

struct PassCount {
  int64_t matches = 0, nodes = 0;
};

// A number that an option may give (pass/pass_setting.h).
struct PassSetting {
  std::string name;
  int64_t value = 0, least = 0;
  std::string what;  // in a few words
};

struct Pass {
  using Run = std::function<Result<PassCount>(Graph&, const OpRegistry&)>;

  std::string name;
  std::string summary;  // one line
  std::vector<Rule> rules = {};
  Run run = {};
  bool rounds = false;     // `run` may round results differently, so off in strict programs
  bool outermost = false;  // doesn't go into subgraphs
  // Rows that are masked entirely may get other values, so it is off in strict programs.
  bool assumes_open_rows = false;
  // With settings, make_run gives the `run` for their values.
  std::vector<PassSetting> settings = {};
  std::function<Run(const std::vector<PassSetting>&)> make_run = {};
};

struct CompileOptions;  // cleave/options.h

// Whether the ms of each rule are measured, beside those of each pass.
enum class RuleTimes : uint8_t { none, measured };

// Runs one pass on the graph and the subgraphs that its nodes refer to, then erases dead code. Of
// the options it reads `strict`. Errors (bug) name pass, rule and node.
Result<CompilePass> run_pass(const Pass& pass, Graph& graph, const OpRegistry& ops,
                             const CompileOptions& options, RuleTimes times = RuleTimes::none);

}  // namespace cleave
