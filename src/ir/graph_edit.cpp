// Edits of a graph: order, uses, operands, types.
#include <algorithm>

#include "ir/graph.h"

namespace cleave {

void Graph::insert_before(NodeId n, NodeId before) {
  ++edits_;
  Node& node = nodes_[n.v];
  node.next = before;
  node.prev = before.valid() ? nodes_[before.v].prev : tail_;
  (node.prev.valid() ? nodes_[node.prev.v].next : head_) = n;
  (before.valid() ? nodes_[before.v].prev : tail_) = n;
}

void Graph::take_out(NodeId n) {
  const Node& node = nodes_[n.v];
  (node.prev.valid() ? nodes_[node.prev.v].next : head_) = node.next;
  (node.next.valid() ? nodes_[node.next.v].prev : tail_) = node.prev;
}

void Graph::move_before(NodeId n, NodeId before) {
  if (n == before) return;
  note_edit(n);
  take_out(n);
  insert_before(n, before);
}

void Graph::link_use(NodeId n, uint32_t operand) {
  ValueId v = nodes_[n.v].inputs[operand];
  if (!v.valid()) return;
  ValueInfo& info = values_[v.v];
  Use use{n, operand};
  link(use) = {info.last_use, {}};
  if (info.last_use.node.valid())
    link(info.last_use).next = use;
  else
    info.first_use = use;
  info.last_use = use;
  ++info.use_count;
}

void Graph::unlink_use(NodeId n, uint32_t operand) {
  ValueId v = nodes_[n.v].inputs[operand];
  if (!v.valid()) return;
  ValueInfo& info = values_[v.v];
  Node::UseLink gone = link({n, operand});
  (gone.prev.node.valid() ? link(gone.prev).next : info.first_use) = gone.next;
  (gone.next.node.valid() ? link(gone.next).prev : info.last_use) = gone.prev;
  --info.use_count;
}

std::vector<Use> Graph::uses(ValueId v) const {
  std::vector<Use> out;
  out.reserve(values_[v.v].use_count);
  for (Use u = values_[v.v].first_use; u.node.valid(); u = nodes_[u.node.v].links[u.operand].next)
    out.push_back(u);
  return out;
}

void Graph::erase(NodeId n) {
  ++edits_;
  Node& node = nodes_[n.v];
  for (uint32_t i = 0; i < node.inputs.size(); ++i) unlink_use(n, i);
  take_out(n);
  for (uint32_t k = 0; k < node.output_count; ++k)
    by_name_.erase(values_[node.out(k).v].name, node.out(k).v);
  node.erased = true;
  node.inputs.clear();
  node.links.clear();
  --live_nodes_;
}

void Graph::set_input(NodeId n, uint32_t operand, ValueId v) {
  ValueId old = nodes_[n.v].inputs[operand];
  if (old == v) return;
  note_edit(n);
  unlink_use(n, operand);
  nodes_[n.v].inputs[operand] = v;
  link_use(n, operand);
  if (!old.valid() || !v.valid() || !(type(old) == type(v))) stale_.push_back(n);
}

void Graph::replace_uses(ValueId from, ValueId to) {
  for (const Use& u : uses(from)) set_input(u.node, u.operand, to);
  for (Return& r : returns_)
    if (r.value == from) ++edits_, r.value = to;
}

// Infers n's types again and marks the users of results whose types changed.
Status Graph::infer_again(NodeId n, std::vector<bool>& marked) {
  const Node& node = nodes_[n.v];
  NodeSpec spec;
  spec.op = node.op;
  spec.inputs = node.inputs;
  spec.list_size = node.list_size;
  spec.attrs = node.attrs;
  CLEAVE_TRY(Types types, infer(spec));
  if (types.size() != node.output_count)
    return user_error("{}: an edit changed the number of results from {} to {}", node.op->name,
                      node.output_count, types.size());
  for (uint32_t k = 0; k < node.output_count; ++k) {
    ValueInfo& info = values_[node.out(k).v];
    types[k].strides = info.type.strides;  // fixed strides are kept unless the type changes
    if (info.type == types[k]) continue;
    note_edit(n);
    types[k].strides.reset();
    info.type = std::move(types[k]);
    for (const Use& u : uses(node.out(k))) {
      marked[u.node.v] = true;
      note_edit(u.node);
    }
  }
  marked[n.v] = false;
  return {};
}

Status Graph::refresh_types() {
  if (stale_.empty()) return {};
  std::vector<bool> marked(nodes_.size());
  for (NodeId n : stale_) marked[n.v] = true;
  Status status;
  for (NodeId n = head_; n.valid() && status.ok(); n = nodes_[n.v].next)
    if (marked[n.v]) status = infer_again(n, marked);
  // Nodes not reached because of a failure, or of a user before its operand, stay stale.
  stale_.clear();
  for (NodeId n = head_; n.valid(); n = nodes_[n.v].next)
    if (marked[n.v]) stale_.push_back(n);
  return status;
}

Status Graph::reorder(const std::vector<NodeId>& order) {
  if (order.size() != live_nodes_)
    return bug("reorder: {} nodes given, the graph has {}", order.size(), live_nodes_);
  std::vector<bool> seen(nodes_.size());
  for (NodeId n : order) {
    if (n.v >= nodes_.size() || nodes_[n.v].erased || seen[n.v])
      return bug("reorder: node {} is erased or named twice", n.v);
    seen[n.v] = true;
  }
  head_ = tail_ = {};
  for (NodeId n : order) insert_before(n, {});
  return {};
}

Status Graph::rename(ValueId v, const std::string& name) {
  if (name == values_[v.v].name) return {};
  if (find(name).valid()) return user_error("the name %{} is taken already", name);
  note_edit(values_[v.v].def);
  by_name_.erase(values_[v.v].name, v.v);
  by_name_.insert(name, v.v);
  values_[v.v].name = name;
  return {};
}

void Graph::filter_placeholders(const std::function<bool(const Placeholder&)>& keep) {
  for (NodeId n = head_; n.valid(); n = nodes_[n.v].next) note_edit(n);  // symbols may disappear
  std::vector<Placeholder> kept;
  for (const Placeholder& p : placeholders_) {
    if (keep(p)) {
      values_[p.value.v].index = static_cast<uint32_t>(kept.size());
      kept.push_back(p);
    } else {
      by_name_.erase(values_[p.value.v].name, p.value.v);
    }
  }
  placeholders_ = std::move(kept);
}

}  // namespace cleave
