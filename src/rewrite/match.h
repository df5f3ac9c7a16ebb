// A match of a pattern: what its names are bound to.
#pragma once
#include <any>
#include <string_view>

#include "ir/graph.h"

namespace cleave {

// What one name is bound to.
struct Capture {
  Values values;              // one; inside each(), one for each item
  std::vector<NodeId> nodes;  // the calls that define them, invalid for placeholders
  AttrValue attr;             // an attribute, or a number given for an operand
  bool is_bound = false;
};

// The bindings of a pattern's names. Asking for a name that the pattern lacks is a bug in the rule.
class Match {
 public:
  Match(const Graph& graph, const std::vector<std::string>& names)
      : graph_(&graph), names_(&names) {
    captures_.resize(names.size());
  }

  const Graph& graph() const { return *graph_; }
  bool knows(std::string_view name) const;  // whether the pattern has the name
  bool has(std::string_view name) const { return capture(name).is_bound; }
  ValueId operator[](std::string_view name) const;
  const Values& all(std::string_view name) const { return capture(name).values; }
  NodeId node(std::string_view name) const;
  const std::vector<NodeId>& nodes(std::string_view name) const { return capture(name).nodes; }
  const Type& type(std::string_view name) const { return graph_->type((*this)[name]); }
  OpView call(std::string_view name) const { return graph_->view(node(name)); }
  const AttrValue& attr(std::string_view name) const { return capture(name).attr; }
  double scalar(std::string_view name) const { return attr(name).as_double(); }
  // Attributes as numbers; symbolic ones are read as 0, so rules check is_static() first.
  int64_t integer(std::string_view name) const;
  std::vector<int64_t> integers(std::string_view name) const;

  // The values that are replaced, and the calls of the match, users first.
  const Values& outputs() const { return outputs_; }
  const std::vector<NodeId>& calls() const { return calls_; }
  // What a rule's condition remembers from one match to the next while it runs over one graph, such
  // as a table over the items of a call: ids are never used twice.
  std::any& memo() const { return memo_; }

  // Number of calls matched, plus results selected by index.
  int64_t size() const { return static_cast<int64_t>(calls_.size()) + picked_; }

 private:
  friend class Matcher;
  const Capture& capture(std::string_view name) const;

  const Graph* graph_;
  const std::vector<std::string>* names_;
  std::vector<Capture> captures_;
  Values outputs_;
  std::vector<NodeId> calls_;
  int64_t picked_ = 0;
  mutable std::any memo_;
};

}  // namespace cleave
