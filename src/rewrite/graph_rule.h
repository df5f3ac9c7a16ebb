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
#pragma once
#include "rewrite/rule.h"

namespace cleave {

struct GraphRule {
  std::string name;
  Graph search, replace;  // equal placeholders, by name and type; equally many results
  // By name: the number that represents it in both graphs.
  std::vector<std::pair<std::string, double>> numbers = {};
  std::function<Result<Graph>(const Graph&)> derive = {};
  bool rounds = false;
};

// Errors (bug), with the rule's name: placeholders or results that differ, a result that isn't the
// result of a call, a failure of `derive`.
Result<Rule> rule_of(GraphRule spec);

// The rule of a text that holds the graphs @search and then @replace, made once for each dtype,
// which replaces f32 in the text. If there are several dtypes, the rules' names end in the dtype.
struct TextRule {
  std::string name;
  std::string text;
  std::vector<std::pair<std::string, double>> numbers = {};
  std::function<Result<Graph>(const Graph&)> derive = {};
  bool rounds = false;
  std::vector<DType> dtypes = {DType::f32};
};
Result<std::vector<Rule>> rules_of(const TextRule& spec, const OpRegistry& ops);

}  // namespace cleave
