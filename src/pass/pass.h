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
#include "cleave/rewrite.h"
#include "rewrite/rule.h"

namespace cleave {

struct PassCount {
  int64_t matches = 0, nodes = 0;
};

struct Pass {
  std::string name;
  std::string summary;  // one line
  std::vector<Rule> rules = {};
  std::function<Result<PassCount>(Graph&, const OpRegistry&)> run = {};
  bool rounds = false;  // `run` may round results differently, so off in strict programs
  // Rows that are masked entirely may get other values, so it is off in strict programs.
  bool assumes_open_rows = false;
};

struct PassOptions {
  bool none = false;                    // run_stage runs no pass
  bool strict = false;                  // no pass or rule that rounds differently (run_stage)
  std::vector<std::string> off;         // names of passes to skip
  std::vector<std::string> on;          // names of passes that run only on request
  bool times = false;                   // fill the reports' ms
  std::vector<RewriteRule> rules = {};  // the host program's
};

// Runs one pass on the graph and the subgraphs that its nodes refer to, then erases dead code.
// Errors (bug) name pass, rule and node.
Result<CompilePass> run_pass(const Pass& pass, Graph& graph, const OpRegistry& ops,
                             const PassOptions& options);

}  // namespace cleave
