// Puts what a rule builds in place of what it matched.
#pragma once
#include <optional>

#include "rewrite/match.h"
#include "rewrite/node_order.h"
#include "rewrite/rule.h"

namespace cleave {

struct Replaced {
  bool is_done = false;          // false: nothing was changed, an order or a gradient forbids it
  std::vector<NodeId> made;      // new calls, in order
  Values values;                 // what stands for each output now
  std::vector<NodeId> orphaned;  // calls that lost a reader or a neighbour and may fit now
};

class Replacer {
 public:
  Replacer(Graph& graph, const OpRegistry& ops);
  // New calls stand before the call replaced, or, where several are, each before its first reader.
  // They take its source and tag; a value that replaces another takes its name; calls that nothing
  // reads any more go. Errors (bug) name rule and node, and leave the graph as it was: a build that
  // fails, gives another number of values or other types, or reads what it replaces.
  Result<Replaced> replace(const Rule& rule, const Match& match);

  const std::vector<bool>& is_returned() const { return is_returned_; }

 private:
  Status check_values(const Match& match, const Values& values,
                      const std::vector<NodeId>& made) const;
  // By a call that isn't the match's own, or by the caller.
  bool is_read_beside(const Match& match, ValueId v) const;
  bool keeps_interface(const Match& match, const Values& values) const;
  bool loses_tag(const Match& match, const Values& values, const std::vector<NodeId>& made) const;
  bool settle_places(const Match& match, const Values& values, const std::vector<NodeId>& made,
                     NodeId root);
  void erase_unread(NodeId n);

  Graph& graph_;
  const OpRegistry& ops_;
  bool is_joint_;                   // gradients are taken already
  std::vector<bool> is_returned_;   // by value
  std::optional<NodeOrder> order_;  // once a rule with several results has matched
};

}  // namespace cleave
