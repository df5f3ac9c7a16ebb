// Passes of the host program: functions from the text of a graph to the text of one that computes
// the same.
//
//   CompileOptions options;
//   options.functions.push_back({.name = "two_relus",
//                                .version = "1",
//                                .point = RulePoint::joint,
//                                .function = [](const std::string& graph) { ... }});
//
// The text is that of graphs (doc/ir.md), with the subgraphs that it refers to before it; the last
// graph of the result is the program. It is parsed and verified, and must have the same
// placeholders and return as many values of the same types in the same order; that they have the
// same values isn't checked. A text that is returned as it was given changes nothing. What a rule
// can say (cleave/rewrite.h) is better said by one, which finds its matches in branches and loops
// too. `strict` doesn't concern these passes.
#pragma once
#include <functional>
#include <string>

#include "cleave/rewrite.h"

namespace cleave {

struct FunctionPass {
  // Names it in Report::passes and messages; in passes_off it turns the pass off.
  std::string name;
  // With the name, all that a cache on disk knows of the function: another version for whatever
  // gives other graphs. Empty: programs that it takes part in aren't kept.
  std::string version = {};
  // As of a rule, behind the rules of this point.
  RulePoint point = RulePoint::pre_grad;
  // Called on the thread that compiles, once for each program. What it throws is an error (user, or
  // of the cleave::Error's kind) that names the pass.
  std::function<std::string(const std::string& graph)> function = {};
};

}  // namespace cleave
