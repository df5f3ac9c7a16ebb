// A rule given as two graphs: what is searched for, and what takes its place.
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
// Placeholders are values of any call, of this rank and dtype; symbols are sizes, each one size
// wherever it stands; a number that is declared stands for any number. Every other attribute has to
// be as it stands there. Results are replaced in order. A pattern is found by its calls and then
// held against the graph with sizes and numbers put in, so constants that follow from them (what a
// derivative multiplies by) are compared as well.
//
// `derive` makes other graphs of both, the joint graphs for example: the same rule then also
// rewrites what differentiation has made of the pattern.
#pragma once
#include "rewrite/rule.h"

namespace cleave {

struct GraphRule {
  std::string name;
  Graph search, replace;  // equal placeholders, by name and type; as many results
  // By name: the number that stands for it in both graphs.
  std::vector<std::pair<std::string, double>> numbers = {};
  std::function<Result<Graph>(const Graph&)> derive = {};
  bool rounds = false;
};

// Errors (bug), with the rule's name: placeholders or results that differ, a result that no call
// makes, what `derive` refuses.
Result<Rule> rule_of(GraphRule spec);

// The rule of a text that holds the graphs @search and @replace, once for each dtype, of which f32
// in the text is the first: names end in the dtype then.
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
