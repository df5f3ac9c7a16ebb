// Rules in order, applied to a graph until none fits any more.
//
// Each call is offered to the rules whose search begins with its operator, first come first served,
// from the last call to the first; after a rewrite the new calls and the readers of what changed
// are tried at once. So a run costs time linear in the calls, whatever the rules for other
// operators are. The result depends on graph and rules alone.
#pragma once
#include <unordered_map>

#include "rewrite/compiled_rule.h"

namespace cleave {

class RuleSet {
 public:
  // Errors (bug): as compile_rule.
  static Result<RuleSet> make(std::vector<Rule> rules, const OpRegistry& ops);

  struct Options {
    bool strict = false;  // rules that round otherwise are off
    bool times = false;   // fill RuleCount::ms
  };
  // Also in the subgraphs that nodes refer to. One count for each rule, in their order. Errors
  // (bug), with rule and node: as Replacer::replace; a run that goes on and on.
  Result<std::vector<RuleCount>> apply(Graph& graph, const OpRegistry& ops,
                                       const Options& options) const;
  Result<std::vector<RuleCount>> apply(Graph& graph, const OpRegistry& ops) const {
    return apply(graph, ops, Options());
  }
  const std::vector<Rule>& rules() const { return *rules_; }

 private:
  Result<bool> apply_here(Graph& graph, const OpRegistry& ops, const Options& options,
                          std::vector<RuleCount>& counts) const;

  std::shared_ptr<const std::vector<Rule>> rules_;
  std::vector<CompiledRule> compiled_;
  std::unordered_map<const OpDef*, std::vector<uint32_t>> by_anchor_;
};

}  // namespace cleave
