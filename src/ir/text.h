// The graph text: print, parse, verify (grammar and rules in doc/ir.md).
//
//   CLEAVE_TRY(Program p, parse(text, "gpt.clv", ops));
//   CLEAVE_CHECK(verify(p));
//   std::string again = print(p);               // parse(again) is equal to p
//
// All are pure, and linear in the text or the graph.
#pragma once
#include <string>

#include "ir/graph.h"

namespace cleave {

enum class Naming { own, canonical };

// Prints one graph after the subgraphs that it refers to, or a file of graphs. `canonical`
// renumbers the results of nodes %0, %1, ...; placeholders keep their names, which are the graph's
// interface.
std::string print(const Graph& g, Naming naming = Naming::own);
std::string print(const Program& p, Naming naming = Naming::own);
// Lines of a program's source by number, for texts that don't depend on where a program stands.
class SourceLines {
 public:
  // Of "gpt.cpp:12", as it is printed. Equal lines have equal numbers.
  size_t number_of(const std::string& line);
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::unordered_map<std::string, size_t> numbers_;
  std::vector<std::string> lines_;  // by number
};
// As print(g), with "# @3:1" for line 3 of `sources`, to which new lines are added.
std::string print(const Graph& g, SourceLines& sources);
// Such a text with lines in the place of their numbers; numbers that have no line stay.
std::string with_lines(std::string_view text, const std::vector<std::string>& lines);
// One node as a line without indentation, for error messages.
std::string print_node(const Graph& g, NodeId n);
// "must_save", ...
std::string_view name_of(Recompute policy);

// Parses text; `file` is used in messages (file:line:column: rule: ...; the line; a caret).
Result<Program> parse(std::string_view text, const std::string& file, const OpRegistry& ops);

// Checks every rule of doc/ir.md; the failure is the first broken rule, with its number.
Status verify(const Graph& g);
// The same for a graph that was valid when edits() was `since`: checks that concern a single node
// run only for nodes edited after that.
Status verify_edited(const Graph& g, int64_t since);
Status verify(const Program& p);

// Describes in a sentence where two graphs or programs differ; empty if they are equal. Compares
// names, placeholders, nodes in order with operands, attributes, tags, sources and types, returns,
// and the subgraphs that they refer to.
std::string difference(const Graph& a, const Graph& b);
std::string difference(const Program& a, const Program& b);

}  // namespace cleave
