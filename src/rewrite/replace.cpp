#include "rewrite/replace.h"

#include <algorithm>
#include <unordered_map>

#include "ir/text.h"

namespace cleave {
namespace {

bool same_type(const SymEnv& env, const Type& a, const Type& b) {
  return a.dtype == b.dtype && a.is_none == b.is_none && a.device == b.device &&
         a.rank() == b.rank() && std::ranges::equal(a.shape, b.shape, [&](auto& x, auto& y) {
           return env.provably_equal(x, y);
         });
}

bool is_differentiable(const Graph& g, ValueId v) {
  const ValueInfo& info = g.value(v);
  if (!info.def.valid()) return true;
  return info.index >= 32 || !(g.node(info.def).op->nondifferentiable >> info.index & 1);
}

}  // namespace

Replacer::Replacer(Graph& graph, const OpRegistry& ops)
    : graph_(graph), ops_(ops), is_joint_(graph.is_joint()) {
  is_returned_.resize(graph.value_capacity());
  for (const Return& r : graph.returns()) is_returned_[r.value.v] = true;
}

NodeId Replacer::last_maker(const Match& match) {
  NodeId last = graph_.value(match.outputs()[0]).def;
  if (!has_several(match)) return last;
  if (!order_) order_.emplace(graph_);
  for (const ValueId v : match.outputs())
    if (const NodeId def = graph_.value(v).def; order_->before(last, def)) last = def;
  return last;
}

bool Replacer::has_several(const Match& match) const {
  const NodeId first = graph_.value(match.outputs()[0]).def;
  return std::ranges::any_of(match.outputs(),
                             [&](ValueId v) { return graph_.value(v).def != first; });
}

Result<Replaced> Replacer::replace(const Rule& rule, const Match& match) {
  const NodeId root = last_maker(match);
  const std::string root_name = graph_.name(match.outputs()[0]);

  const NodeId before = graph_.prev_node(root);
  Builder b(graph_, ops_);
  b.insert_before(root);
  b.set_loc(graph_.node(root).loc);
  b.set_tag(graph_.node(root).tag);
  const Values values = rule.build(b, match);
  Replaced out;
  for (NodeId n = before.valid() ? graph_.next_node(before) : graph_.first_node(); n != root;
       n = graph_.next_node(n))
    out.made.push_back(n);
  const auto take_back = [&] {
    for (size_t i = out.made.size(); i-- > 0;) graph_.erase(out.made[i]);
    out.made.clear();
  };

  Status status = b.status();
  if (status.ok()) status = check_values(match, values, out.made);
  if (!status.ok()) {
    take_back();
    return bug("rule {} at %{}: {}", rule.name, root_name, status.failure().message);
  }
  if (order_)
    for (const NodeId n : out.made) order_->place(n);
  if (!keeps_interface(match, values) || loses_tag(match, values, out.made) ||
      (has_several(match) && !settle_places(match, values, out.made, root))) {
    take_back();
    return out;
  }

  out.is_done = true;
  out.values = values;
  CLEAVE_CHECK(take_over(match, out));
  return out;
}

Status Replacer::take_over(const Match& match, Replaced& out) {
  const Values& values = out.values;
  is_returned_.resize(graph_.value_capacity());
  std::vector<std::string> names;
  for (size_t i = 0; i < values.size(); ++i) {
    const ValueId old = match.outputs()[i];
    names.push_back(graph_.name(old));
    if (values[i] == old || !values[i].valid()) continue;
    graph_.replace_uses(old, values[i]);
    if (is_returned_[old.v]) is_returned_[values[i].v] = true;
    is_returned_[old.v] = false;
  }
  for (const NodeId n : match.calls())
    if (!graph_.node(n).erased) erase_unread(n);
  std::ranges::sort(out.made);  // by id: in order of creation
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i].valid()) continue;
    const NodeId def = graph_.value(values[i]).def;
    if (def.valid() && std::ranges::binary_search(out.made, def) && !graph_.find(names[i]).valid())
      CLEAVE_CHECK(graph_.rename(values[i], names[i]));
  }
  for (size_t i = out.made.size(); i-- > 0;) erase_unread(out.made[i]);
  return {};
}

Status Replacer::check_values(const Match& match, const Values& values,
                              const std::vector<NodeId>& made) const {
  const Values& outputs = match.outputs();
  if (values.size() != outputs.size())
    return bug("it builds {} values for {} results", values.size(), outputs.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i].valid()) {
      if (is_read_beside(match, outputs[i]))
        return bug("it builds nothing for %{}", graph_.name(outputs[i]));
      continue;
    }
    const Type &got = graph_.type(values[i]), &want = graph_.type(outputs[i]);
    if (!same_type(graph_.env(), got, want))
      return bug("it builds {} for %{}: {}", got.text(), graph_.name(outputs[i]), want.text());
  }
  for (const NodeId n : made)
    for (const ValueId v : graph_.node(n).inputs)
      if (std::ranges::find(outputs, v) != outputs.end() &&
          std::ranges::find(values, v) == values.end())
        return bug("'{}' reads %{}, which it replaces", print_node(graph_, n), graph_.name(v));
  return {};
}

bool Replacer::is_read_beside(const Match& match, ValueId v) const {
  if (is_returned_[v.v]) return true;
  return std::ranges::any_of(graph_.uses(v), [&](const Use& use) {
    return std::ranges::find(match.calls(), use.node) == match.calls().end();
  });
}

// A returned value without a gradient must not gain one. Its strides are restored after the rewrite
// (ir/result_strides.h), by a clone if needed, so a clone that already serves that purpose is kept.
bool Replacer::keeps_interface(const Match& match, const Values& values) const {
  const bool is_clone =
      match.calls().size() == 1 && graph_.node(match.calls()[0]).op->name == "clone";
  for (size_t i = 0; i < values.size(); ++i) {
    const ValueId old = match.outputs()[i];
    if (!values[i].valid()) continue;
    if (is_clone && is_returned_[old.v] &&
        graph_.type(values[i]).strides != graph_.type(old).strides)
      return false;
    const bool gains_gradient = !is_joint_ && is_floating(graph_.type(old).dtype) &&
                                !is_differentiable(graph_, old) &&
                                is_differentiable(graph_, values[i]);
    if (!gains_gradient) continue;
    const bool is_result = std::ranges::any_of(graph_.returns(), [&](const Return& r) {
      return r.value == old && r.kind == ReturnKind::result;
    });
    if (is_result || graph_.use_count(old) > 0) return false;
  }
  return true;
}

// A value tagged must_save must remain the result of a call: the call's operand may be recomputed.
bool Replacer::loses_tag(const Match& match, const Values& values,
                         const std::vector<NodeId>& made) const {
  if (graph_.node(match.calls()[0]).tag.policy != Recompute::must_save) return false;
  return std::ranges::any_of(values, [&](ValueId v) {
    return v.valid() && std::ranges::find(made, graph_.value(v).def) == made.end();
  });
}

// Moves each new call to just before its first user, if its operands are defined by then.
bool Replacer::settle_places(const Match& match, const Values& values,
                             const std::vector<NodeId>& made, NodeId root) {
  std::vector<NodeId> gone = match.calls();
  std::ranges::sort(gone);
  std::unordered_map<uint32_t, NodeId> place;  // of each new call: before which call
  const auto is_new = [&](NodeId n) { return std::ranges::find(made, n) != made.end(); };
  // The position of a user; for a new call, its future position.
  const auto stands = [&](NodeId n) {
    const auto it = place.find(n.v);
    return it == place.end() ? n : it->second;
  };
  for (size_t i = made.size(); i-- > 0;) {
    const Node& node = graph_.node(made[i]);
    NodeId& at = place[made[i].v] = root;
    const auto note = [&](NodeId reader) {
      if (std::ranges::binary_search(gone, reader)) return;
      if (const NodeId s = stands(reader); order_->before(s, at)) at = s;
    };
    for (uint32_t k = 0; k < node.output_count; ++k) {
      for (const Use& use : graph_.uses(node.out(k))) note(use.node);
      for (size_t o = 0; o < values.size(); ++o)
        if (values[o] == node.out(k))
          for (const Use& use : graph_.uses(match.outputs()[o])) note(use.node);
    }
  }
  const auto is_there = [&](ValueId v, NodeId reader) {
    if (!v.valid()) return true;
    const NodeId def = graph_.value(v).def;
    return !def.valid() || is_new(def) || order_->before(def, reader);
  };
  for (const NodeId n : made)
    for (const ValueId v : graph_.node(n).inputs)
      if (!is_there(v, place[n.v])) return false;
  for (size_t o = 0; o < values.size(); ++o)  // existing values must precede the output's users
    for (const Use& use : graph_.uses(match.outputs()[o]))
      if (!std::ranges::binary_search(gone, use.node) && !is_there(values[o], use.node))
        return false;
  for (const NodeId n : made) {
    if (place[n.v] == root) continue;
    graph_.move_before(n, place[n.v]);
    order_->place(n);
  }
  return true;
}

void Replacer::erase_unread(NodeId first) {
  std::vector<NodeId> todo{first};
  while (!todo.empty()) {
    const NodeId n = todo.back();
    todo.pop_back();
    const Node& node = graph_.node(n);
    if (node.erased || has(node.op->traits, Trait::effect)) continue;
    bool is_read = false;
    for (uint32_t k = 0; k < node.output_count && !is_read; ++k)
      is_read = graph_.use_count(node.out(k)) > 0 || is_returned_[node.out(k).v];
    if (is_read) continue;
    for (const ValueId v : node.inputs)
      if (v.valid())
        if (const NodeId def = graph_.value(v).def; def.valid()) todo.push_back(def);
    graph_.erase(n);
  }
}

}  // namespace cleave
