#include "rewrite/matcher.h"

#include <algorithm>

#include "ir/op_view.h"

namespace cleave {
namespace {

using Kind = PatternNode::Kind;

}  // namespace

Matcher::Matcher(const Graph& graph, const CompiledRule& rule, const std::vector<bool>& is_returned)
    : graph_(graph), rule_(rule), is_returned_(is_returned), match_(graph, rule.names),
      node_of_(rule.patterns.size()), item_base_(rule.names.size()) {}

Matcher::Found Matcher::find(NodeId n) {
  undo(0);
  match_.calls_.clear();
  pattern_of_.clear();
  steps_ = 0;
  was_refused_ = false;
  const Node& node = graph_.node(n);
  for (uint32_t k = 0; k < node.output_count; ++k) {
    root_ = 0;
    const Goal goal{rule_.roots[0], node.out(k), {}, 0, nullptr};
    if (solve(&goal)) return Found::yes;
    undo(0);
    if (rule_.patterns[rule_.roots[0]].kind == Kind::results) break;
  }
  return was_refused_ ? Found::refused : Found::no;
}

void Matcher::undo(size_t mark) {
  while (trail_.size() > mark) {
    const Undo u = trail_.back();
    trail_.pop_back();
    switch (u.kind) {
      case Undo::Kind::call: node_of_[u.at] = {}; break;
      case Undo::Kind::capture: {
        Capture& c = match_.captures_[u.at];
        if (!c.values.empty()) {
          c.values.pop_back();
          c.nodes.pop_back();
        }
        c.is_bound = u.was_bound;
        break;
      }
      case Undo::Kind::call_list:
        match_.calls_.pop_back();
        pattern_of_.pop_back();
        break;
      case Undo::Kind::picked: --match_.picked_; break;
    }
  }
}

bool Matcher::bind_value(int name, ValueId v) {
  if (name < 0) return true;
  Capture& c = match_.captures_[name];
  if (c.is_bound && c.values.empty()) return false;  // bound to a number elsewhere
  if (c.values.size() > item_base_[name]) return c.values.back() == v;
  trail_.push_back({Undo::Kind::capture, name, c.is_bound});
  c.values.push_back(v);
  c.nodes.push_back(graph_.value(v).def);
  c.is_bound = true;
  return true;
}

bool Matcher::bind_attr(int name, const AttrValue& v) {
  Capture& c = match_.captures_[name];
  if (c.is_bound) return c.values.empty() && c.attr == v;
  trail_.push_back({Undo::Kind::capture, name, false});
  c.attr = v;
  c.is_bound = true;
  return true;
}

const CompiledOp* Matcher::op_of(const CompiledPattern& p, const OpDef* op) const {
  for (const CompiledOp& o : p.ops)
    if (o.op == op) return &o;
  return nullptr;
}

bool Matcher::fits_attrs(const CompiledOp& op, const Node& node) {
  const Schema& schema = op.op->schema;
  for (const auto& [arg, value] : node.attrs.given())
    if (!schema.args[arg].is_operand() &&
        std::ranges::find(op.attrs, arg, &CompiledAttr::arg) == op.attrs.end())
      return false;
  for (const CompiledAttr& test : op.attrs) {
    if (test.kind == AttrTest::Kind::anything) continue;
    const AttrValue* given = node.attrs.find(test.arg);
    const AttrValue& value = given ? *given : schema.args[test.arg].default_value;
    const bool fits =
        test.kind == AttrTest::Kind::equals ? value == test.value : bind_attr(test.name, value);
    if (!fits) return false;
  }
  return true;
}

const AttrValue* Matcher::number_at(const Goal& goal) const {
  if (!goal.value.is_number()) return nullptr;
  const Node& user = graph_.node(goal.user);
  return user.attrs.find(user.op->schema.operands[goal.operand]);
}

bool Matcher::solve(const Goal* goal) {
  if (!goal) return next_root();
  if (goal->pattern < 0) return true;
  if (++steps_ > max_steps) {
    was_refused_ = true;
    return false;
  }
  const CompiledPattern& p = rule_.patterns[goal->pattern];
  const ValueId v = goal->value;
  if (p.source->test && !(v.valid() && p.source->test(graph_.type(v)))) return false;
  const size_t begin = mark();
  switch (p.kind) {
    case Kind::any:
      return v.valid() && ((bind_value(p.name, v) && solve(goal->next)) || back(begin));
    case Kind::absent: return v.is_none() && solve(goal->next);
    case Kind::number: return solve_number(*goal, p);
    case Kind::optional: {
      if (v.is_none()) return solve(goal->next);
      const Goal child{p.children[0], v, goal->user, goal->operand, goal->next};
      return solve(&child);
    }
    case Kind::either: return solve_either(*goal, p);
    case Kind::through: return solve_through(*goal, p);
    case Kind::call:
      return v.valid() && graph_.value(v).def.valid() && graph_.value(v).index == 0 &&
             ((bind_value(p.name, v) && solve_call(*goal, p, graph_.value(v).def)) || back(begin));
    case Kind::result:
    case Kind::results: return solve_result(*goal, p);
    case Kind::list: return solve_list(*goal, p);
    case Kind::each: return solve_each(*goal, p);
  }
  return false;
}

bool Matcher::solve_number(const Goal& goal, const CompiledPattern& p) {
  const AttrValue* number = number_at(goal);
  if (!number) return false;
  if (!p.source->value.is_none() && number->as_double() != p.source->value.as_double())
    return false;
  const size_t begin = mark();
  return ((p.name < 0 || bind_attr(p.name, *number)) && solve(goal.next)) || back(begin);
}

bool Matcher::solve_either(const Goal& goal, const CompiledPattern& p) {
  const ValueId v = goal.value;
  const size_t begin = mark();
  for (const int c : p.children) {
    const Goal child{c, v, goal.user, goal.operand, goal.next};
    if (bind_value(v.valid() ? p.name : -1, v) && solve(&child)) return true;
    undo(begin);
  }
  return false;
}

bool Matcher::solve_through(const Goal& goal, const CompiledPattern& p) {
  const size_t begin = mark();
  size_t passed = begin;
  for (ValueId at = goal.value; at.valid();) {
    const Goal child{p.children[0], at, goal.user, goal.operand, goal.next};
    if (solve(&child)) return true;
    undo(passed);
    const NodeId def = graph_.value(at).def;
    if (!def.valid() || !op_of(p, graph_.node(def).op)) return back(begin);
    note_call(goal.pattern, def);
    passed = mark();
    at = graph_.node(def).inputs[0];
  }
  return back(begin);
}

bool Matcher::solve_result(const Goal& goal, const CompiledPattern& p) {
  const ValueId v = goal.value;
  if (!v.valid()) return false;
  const ValueInfo& info = graph_.value(v);
  if (!info.def.valid()) return false;
  if (p.kind == Kind::result && p.source->index >= 0 &&
      info.index != static_cast<uint32_t>(p.source->index))
    return false;
  const size_t begin = mark();
  if (!bind_value(p.name, v)) return back(begin);
  if (p.kind == Kind::result && goal.user.valid()) {
    ++match_.picked_;
    trail_.push_back({Undo::Kind::picked, 0});
  }
  const CompiledPattern& call = rule_.patterns[p.children[0]];
  const Goal child{p.children[0], v, goal.user, goal.operand, goal.next};
  return (bind_value(call.name, graph_.node(info.def).out(0)) &&
          solve_call(child, call, info.def)) ||
         back(begin);
}

void Matcher::note_call(int pattern, NodeId n) {
  match_.calls_.push_back(n);
  pattern_of_.push_back(pattern);
  trail_.push_back({Undo::Kind::call_list, 0});
}

bool Matcher::solve_call(const Goal& goal, const CompiledPattern& p, NodeId n) {
  const auto at = static_cast<int>(&p - rule_.patterns.data());
  if (node_of_[at].valid()) return node_of_[at] == n && solve(goal.next);
  const Node& node = graph_.node(n);
  const CompiledOp* op = op_of(p, node.op);
  if (!op) return false;
  const size_t begin = mark();
  if (!fits_attrs(*op, node)) return back(begin);
  node_of_[at] = n;
  trail_.push_back({Undo::Kind::call, at});
  if (!p.is_repeated || match_.calls_.back() != n) note_call(at, n);  // items of one call
  const size_t bound = mark();
  if (solve_operands(goal, p, n, false)) return true;
  undo(bound);
  if (p.source->is_commutative && p.children.size() >= 2 && solve_operands(goal, p, n, true))
    return true;
  return back(begin);
}

bool Matcher::solve_operands(const Goal& goal, const CompiledPattern& p, NodeId n, bool swapped) {
  const Node& node = graph_.node(n);
  const Schema& schema = node.op->schema;
  const auto flat = [&](size_t operand) {
    const bool after = schema.list_operand >= 0 && static_cast<int>(operand) > schema.list_operand;
    return operand + (after ? node.list_size - 1 : 0);
  };
  const size_t given = p.children.size();
  for (size_t i = given; i < schema.operands.size(); ++i) {
    if (static_cast<int>(i) == schema.list_operand ? node.list_size > 0
                                                   : !node.inputs[flat(i)].is_none())
      return false;
  }
  constexpr size_t max_operands = 24;  // more than any operator has
  Goal goals[max_operands];
  const Goal* next = goal.next;
  for (size_t k = given; k-- > 0;) {
    const size_t operand = swapped && k < 2 ? 1 - k : k;
    const bool is_list = static_cast<int>(operand) == schema.list_operand;
    const ValueId v = is_list ? ValueId{} : node.inputs[flat(operand)];
    goals[k] = {p.children[k], v, n, static_cast<uint32_t>(operand), next};
    next = &goals[k];
  }
  return solve(next);
}

bool Matcher::solve_list(const Goal& goal, const CompiledPattern& p) {
  const Node& user = graph_.node(goal.user);
  if (p.children.size() != user.list_size) return false;
  std::vector<Goal> goals(p.children.size());
  const Goal* next = goal.next;
  for (size_t k = goals.size(); k-- > 0;) {
    goals[k] = {p.children[k], user.inputs[goal.operand + k], goal.user, goal.operand, next};
    next = &goals[k];
  }
  return solve(next);
}

bool Matcher::solve_each(const Goal& goal, const CompiledPattern& p) {
  const Node& user = graph_.node(goal.user);
  const size_t begin = mark();
  for (uint32_t k = 0; k < user.list_size; ++k) {
    for (size_t i = 0; i < node_of_.size(); ++i)
      if (rule_.patterns[i].is_repeated) {
        node_of_[i] = {};
        if (const int name = rule_.patterns[i].name; name >= 0)
          item_base_[name] = match_.captures_[name].values.size();
      }
    const Goal end{-1, {}, {}, 0, nullptr};
    const Goal item{p.children[0], user.inputs[goal.operand + k], goal.user, goal.operand, &end};
    if (!solve(&item)) return back(begin);
    if (rule_.patterns[p.children[0]].kind == Kind::any) --steps_;  // nothing was searched for
  }
  for (size_t& base : item_base_) base = 0;
  return solve(goal.next) || back(begin);
}

bool Matcher::next_root() {
  const size_t r = root_;
  const size_t begin = mark();
  match_.outputs_.clear();
  if (r + 1 == rule_.roots.size()) return accept();
  const CompiledPattern& known = rule_.patterns[rule_.known[r]];
  root_ = r + 1;
  bool found = false;
  if (const NodeId n = node_of_[rule_.known[r]]; n.valid()) {
    const Node& node = graph_.node(n);
    for (uint32_t k = 0; k < node.output_count && !found; ++k) found = climb(0, node.out(k));
  } else {
    found = climb(0, match_.captures_[known.name].values[0]);
  }
  if (!found) {
    undo(begin);
    root_ = r;
  }
  return found;
}

bool Matcher::climb(size_t level, ValueId v) {
  const std::vector<Climb>& way = rule_.climbs[root_ - 1];
  const size_t begin = mark();
  if (level == way.size()) {
    const Goal goal{rule_.roots[root_], v, {}, 0, nullptr};
    const size_t root = root_;
    if (solve(&goal)) return true;
    root_ = root;
    return back(begin);
  }
  const CompiledPattern& p = rule_.patterns[way[level].call];
  for (const Use& use : graph_.uses(v)) {
    const Node& user = graph_.node(use.node);
    if (!op_of(p, user.op)) continue;
    if (++steps_ > max_steps) return false;
    if (const int k = way[level].result; k >= 0) {
      if (k < static_cast<int>(user.output_count) && climb(level + 1, user.out(k))) return true;
    } else {
      if (climb(level + 1, user.out(0))) return true;
    }
  }
  return false;
}

bool Matcher::accept() {
  match_.outputs_.clear();
  for (const int root : rule_.roots) {
    const CompiledPattern& p = rule_.patterns[root];
    int call = root;
    uint32_t index = 0;
    if (p.kind == Kind::result || p.kind == Kind::results) {
      call = p.children[0];
      index = static_cast<uint32_t>(std::max(0, p.source->index));
    }
    if (p.kind == Kind::either) {  // the alternative that matched
      for (const int c : p.children) {
        const CompiledPattern& child = rule_.patterns[c];
        const bool is_result = child.kind == Kind::result;
        const int at = is_result ? child.children[0] : c;
        if (!node_of_[at].valid()) continue;
        call = at;
        index = is_result ? static_cast<uint32_t>(std::max(0, child.source->index)) : 0;
      }
    }
    const Node& node = graph_.node(node_of_[call]);
    if (p.kind != Kind::results) {
      match_.outputs_.push_back(node.out(index));
      continue;
    }
    for (uint32_t k = 0; k < node.output_count; ++k) match_.outputs_.push_back(node.out(k));
  }
  const CheckpointTag& tag = graph_.node(match_.calls_[0]).tag;
  bool fits = has_only_inner_users();
  for (const NodeId n : match_.calls_) {
    const Node& node = graph_.node(n);
    fits = fits && node.tag == tag && !has(node.op->traits, Trait::effect);
  }
  if (fits && rule_.rule->when) fits = rule_.rule->when(match_);
  was_refused_ |= !fits;
  return fits;
}

bool Matcher::has_only_inner_users() const {
  Values outputs = match_.outputs_;
  std::ranges::sort(outputs);
  std::vector<NodeId> sorted = match_.calls_;
  std::ranges::sort(sorted);
  for (size_t i = 0; i < match_.calls_.size(); ++i) {
    if (rule_.patterns[pattern_of_[i]].source->is_shared) continue;
    const Node& node = graph_.node(match_.calls_[i]);
    for (uint32_t k = 0; k < node.output_count; ++k) {
      const ValueId v = node.out(k);
      if (std::ranges::binary_search(outputs, v)) continue;
      if (is_returned_.size() > v.v && is_returned_[v.v]) return false;
      for (const Use& use : graph_.uses(v))
        if (!std::ranges::binary_search(sorted, use.node)) return false;
    }
  }
  return true;
}

}  // namespace cleave
