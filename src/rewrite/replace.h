// Replaces what a rule matched by what it builds.
#pragma once
#include <optional>

#include "rewrite/match.h"
#include "rewrite/node_order.h"
#include "rewrite/rule.h"

namespace cleave {

struct Replaced {
  bool is_done = false;      // false: unchanged, as order, gradients or a tag forbid it
  std::vector<NodeId> made;  // new calls, in order
  Values values;             // what replaces each output
};

class Replacer {
 public:
  Replacer(Graph& graph, const OpRegistry& ops);
  // New calls are placed before the replaced call; if several are replaced, each before its first
  // user. They get its source location and tag; a replacement takes the name of the value it
  // replaces; calls without remaining users are erased. Errors (bug) name rule and node, and leave
  // the graph unchanged: a build that fails, returns another number of values or other types, or
  // uses what it replaces.
  Result<Replaced> replace(const Rule& rule, const Match& match);

  const std::vector<bool>& is_returned() const { return is_returned_; }

 private:
  // Whether several calls make the outputs; the last of them.
  bool has_several(const Match& match) const;
  NodeId last_maker(const Match& match);
  Status check_values(const Match& match, const Values& values,
                      const std::vector<NodeId>& made) const;
  // Used by a call outside the match, or returned.
  bool is_read_beside(const Match& match, ValueId v) const;
  bool keeps_interface(const Match& match, const Values& values) const;
  bool loses_tag(const Match& match, const Values& values, const std::vector<NodeId>& made) const;
  bool settle_places(const Match& match, const Values& values, const std::vector<NodeId>& made,
                     NodeId root);
  // Lets the new values replace the outputs, with their names, and erases calls without users.
  Status take_over(const Match& match, Replaced& out);
  void erase_unread(NodeId n);

  Graph& graph_;
  const OpRegistry& ops_;
  bool is_joint_;                   // it contains gradients already
  std::vector<bool> is_returned_;   // by value
  std::optional<NodeOrder> order_;  // set once a rule with several results has matched
};

}  // namespace cleave
