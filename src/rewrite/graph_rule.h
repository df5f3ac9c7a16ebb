// A rule given as two graphs: the one to search for, and its replacement.
//
//   graph @search(%m: symint, %n: symint, %x: input f32[m,n]) {
//     %e = exp(%x)
//     %y = log(%e)
//     return %y
//   }
//   graph @replace(%m: symint, %n: symint, %x: input f32[m,n]) {
//     return %x
//   }
//
// Placeholders match any value of their rank and dtype; symbols match sizes, the same size at each
// occurrence; a declared number matches any number. Every other attribute must be equal. Results
// are replaced in order. A pattern is found by its calls and then compared with the graph after
// substituting sizes and numbers, so that constants derived from them (such as a factor in a
// derivative) are compared as well.
//
// `derive` transforms both graphs, into joint graphs for example, so that the same rule also
// rewrites what differentiation made of the pattern.
//
// Conditions and replacements that a graph can't express are functions of the match.
#pragma once
#include <map>

#include "rewrite/rule.h"

namespace cleave {

// What a graph rule matched, by the names of its search.
class GraphMatch {
 public:
  GraphMatch(const Graph& search, const Match& match, std::map<std::string, Dim> sizes,
             std::map<std::string, double> numbers)
      : search_(&search), match_(&match), sizes_(std::move(sizes)), numbers_(std::move(numbers)) {}

  const Graph& graph() const { return match_->graph(); }
  ValueId value(const std::string& name) const;  // none: there is no such name
  NodeId call(const std::string& name) const;    // that makes it; invalid: a placeholder, or none
  const std::map<std::string, Dim>& sizes() const { return sizes_; }  // by symint
  const std::map<std::string, double>& numbers() const { return numbers_; }

 private:
  const Graph* search_;
  const Match* match_;
  std::map<std::string, Dim> sizes_;
  std::map<std::string, double> numbers_;
};

// What is common to both forms of a rule.
struct GraphRuleParts {
  // By name: the number that represents it in both graphs.
  std::vector<std::pair<std::string, double>> numbers = {};
  std::function<Result<Graph>(const Graph&)> derive = {};
  bool rounds = false;
  // Attributes that match any value, as "result.attribute"; then any types of that call's results,
  // and of what is computed from them.
  std::vector<std::string> any = {};
  std::function<bool(const GraphMatch&)> when = {};
  // In place of the graph to replace with, which isn't read.
  std::function<Values(Builder&, const GraphMatch&)> make = {};
};

struct GraphRule {
  std::string name;
  Graph search, replace;  // equal placeholders, by name and type; equally many results
  GraphRuleParts parts = {};
};

// Errors (bug), with the rule's name: placeholders or results that differ, a result that isn't the
// result of a call, an attribute of `any` that no call has, a failure of `derive`.
Result<Rule> rule_of(GraphRule spec);

// The rule of a text that holds the graphs @search and then @replace, or, with `make`, @search
// alone. It is made once for each dtype, which replaces f32 in the text; if there are several, the
// rules' names end in the dtype.
struct TextRule {
  std::string name;
  std::string text;
  GraphRuleParts parts = {};
  std::vector<DType> dtypes = {DType::f32};
};
Result<std::vector<Rule>> rules_of(const TextRule& spec, const OpRegistry& ops);

}  // namespace cleave
