// Matches a rule's pattern at a call, with backtracking.
#pragma once
#include "rewrite/compiled_rule.h"

namespace cleave {

class Matcher {
 public:
  // `is_returned` has an entry for each value of the graph: whether a return names it.
  Matcher(const Graph& graph, const CompiledRule& rule, const std::vector<bool>& is_returned);

  enum class Found : uint8_t { no, refused, yes };
  // Whether the rule's first result can be a result of n. `refused`: the pattern matches, but its
  // condition, users or tags don't; or the search was abandoned after max_steps.
  Found find(NodeId n);
  // Valid after `yes`, until the next call of find.
  const Match& match() const { return match_; }

  static constexpr int max_steps = 10000;  // calls of solve for one find

 private:
  // What remains to be matched: a linked list on the stack.
  struct Goal {
    int pattern;  // -1: the end of one item of each()
    ValueId value;
    NodeId user;       // the call that uses it, for numbers and lists
    uint32_t operand;  // and the position among that operator's operands
    const Goal* next;
  };
  struct Undo {
    enum class Kind : uint8_t { call, capture, call_list, picked } kind;
    int at;
    bool was_bound = false;
  };

  bool solve(const Goal* goal);
  void note_call(int pattern, NodeId n);
  bool solve_number(const Goal& goal, const CompiledPattern& p);
  bool solve_either(const Goal& goal, const CompiledPattern& p);
  bool solve_through(const Goal& goal, const CompiledPattern& p);
  bool solve_result(const Goal& goal, const CompiledPattern& p);
  bool solve_call(const Goal& goal, const CompiledPattern& p, NodeId n);
  bool solve_operands(const Goal& goal, const CompiledPattern& p, NodeId n, bool swapped);
  bool solve_each(const Goal& goal, const CompiledPattern& p);
  bool solve_list(const Goal& goal, const CompiledPattern& p);
  bool next_root();
  bool climb(size_t level, ValueId v);
  bool accept();
  bool has_only_inner_users() const;

  const CompiledOp* op_of(const CompiledPattern& p, const OpDef* op) const;
  bool fits_attrs(const CompiledOp& op, const Node& node);
  const AttrValue* number_at(const Goal& goal) const;
  bool bind_value(int name, ValueId v);
  bool bind_attr(int name, const AttrValue& v);
  size_t mark() const { return trail_.size(); }
  void undo(size_t mark);
  bool back(size_t mark) {
    undo(mark);
    return false;
  }

  const Graph& graph_;
  const CompiledRule& rule_;
  const std::vector<bool>& is_returned_;
  Match match_;
  std::vector<NodeId> node_of_;    // by pattern
  std::vector<int> pattern_of_;    // for each entry of match_.calls_
  std::vector<size_t> item_base_;  // by name: where the current item of each() begins
  std::vector<Undo> trail_;
  size_t root_ = 0;
  int steps_ = 0;
  bool was_refused_ = false;
};

}  // namespace cleave
