// A pass: a named change of a graph that keeps what it computes.
//
//   Pass fold_permute() {
//     return {.name = "fold_permute",
//             .summary = "two permutes in a row become one, or none",
//             .rules = {{.name = "compose", .search = {...}, .when = ..., .build = ...}}};
//   }
//
// Either rules, which the engine applies until none fits, or a function for what is no pattern.
// A pass is pure: graph and options in, graph out; a second run changes nothing more.
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
  bool rounds = false;  // of `run`: results may be rounded otherwise, so off in strict programs
  // Rows of a mask that are closed altogether may give other values; so off in strict programs.
  bool assumes_open_rows = false;
};

struct PassOptions {
  bool none = false;                    // run_stage runs no pass
  bool strict = false;                  // no pass or rule that rounds otherwise (run_stage)
  std::vector<std::string> off;         // names of passes that don't run
  std::vector<std::string> on;          // of those that run only where they are asked for
  bool times = false;                   // fill the reports' ms
  std::vector<RewriteRule> rules = {};  // the host program's
};

// Runs one pass on the graph and the subgraphs that its nodes refer to, and drops what nothing
// reads afterwards. Errors (bug) name pass, rule and node.
Result<CompilePass> run_pass(const Pass& pass, Graph& graph, const OpRegistry& ops,
                             const PassOptions& options);

}  // namespace cleave
