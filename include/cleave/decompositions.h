// Which operators are replaced by simpler ones before a graph is compiled.
//
//   Decompositions::defaults().without({"tanh_backward"}).with({"gelu"})
#pragma once
#include <string>
#include <vector>

#include "cleave/rewrite.h"
#include "cleave/traced_graph.h"

namespace cleave {

// A value. Operators are replaced by their entry's decomposition until none of them is left, rules
// of the host program, in their order, run first.
class CLEAVE_API Decompositions {
 public:
  Decompositions() = default;  // none
  static Decompositions none() { return {}; }
  // Backwards of activations, and what has a form in simpler operators that fuses as well: those of
  // memory_efficient_fusion. Source: default_decompositions, torch/_functorch/compilers.py.
  static Decompositions defaults();
  // What cleave's lowering would decompose.
  static Decompositions select();

  // Errors (user): an operator that isn't there, or has no decomposition.
  Decompositions with(const std::vector<std::string>& operators) const;
  // Error (user): a name that isn't among them.
  Decompositions without(const std::vector<std::string>& names) const;
  // A pattern and what replaces it (cleave/rewrite.h).
  Decompositions with_rule(const RewriteRule& rule) const;

  const std::vector<std::string>& operators() const { return operators_; }
  const std::vector<RewriteRule>& rules() const { return rules_; }
  bool selects() const { return selects_; }  // select(), whatever else is chosen
  TracedGraph apply(const TracedGraph& graph) const;

 private:
  std::vector<std::string> operators_;
  std::vector<RewriteRule> rules_;
  bool selects_ = false;
};

}  // namespace cleave
