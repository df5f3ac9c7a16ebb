// An ordered list of rules, applied to a graph until none matches.
//
// Each call is offered to the rules whose search begins with its operator, in the order of the
// rules, from the last call to the first; after a rewrite the new calls and the users of changed
// values are tried at once. A run therefore takes time linear in the calls, regardless of the rules
// for other operators. The result depends only on the graph and the rules.
#pragma once
#include <unordered_map>

#include "rewrite/compiled_rule.h"

namespace cleave {

class RuleSet {
 public:
  // Errors (bug): those of compile_rule.
  static Result<RuleSet> make(std::vector<Rule> rules, const OpRegistry& ops);

  struct Options {
    bool strict = false;  // disables rules that round differently
    bool times = false;   // fill RuleCount::ms
  };
  // Also rewrites the subgraphs that nodes refer to. Returns one count for each rule, in their
  // order. Errors (bug), with rule and node: those of Replacer::replace; a run that doesn't
  // terminate.
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
