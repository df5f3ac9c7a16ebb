#include "cut/joint_view.h"

#include "ir/subgraph.h"
#include "ir/text.h"

namespace cleave {
namespace {

// Gives `half` to `first`, which may be invalid, and to all nodes that it depends on, up to those
// that have a half already.
void mark(const Graph& g, NodeId first, Half half, std::vector<Half>& halves) {
  std::vector<NodeId> open{first};
  while (!open.empty()) {
    const NodeId n = open.back();
    open.pop_back();
    if (!n.valid() || halves[n.v] != Half::neither) continue;
    halves[n.v] = half;
    for (ValueId in : g.node(n).inputs)
      if (in.valid()) open.push_back(g.value(in).def);
  }
}

bool is_tangent(const Graph& g, ValueId v) {
  const Placeholder* p = v.valid() ? g.placeholder_of(v) : nullptr;
  return p && p->role == Role::tangent;
}

// By node: whether it reads a tangent, directly or indirectly.
std::vector<bool> reads_tangents(const Graph& g) {
  std::vector<bool> reads(g.node_capacity());
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n))
    for (const ValueId in : g.node(n).inputs) {
      if (!in.valid()) continue;
      const NodeId def = g.value(in).def;
      reads[n.v] = reads[n.v] || (def.valid() ? reads[def.v] : is_tangent(g, in));
    }
  return reads;
}

}  // namespace

Result<JointView> JointView::make(const Graph& joint) {
  JointView view(joint);
  const std::vector<bool> late = reads_tangents(joint);
  for (const Return& r : joint.returns()) {
    if (r.kind == ReturnKind::grad) continue;
    if (is_tangent(joint, r.value))
      return user_error("@{}: the tangent %{} is returned as a result", joint.name(),
                        joint.name(r.value));
    mark(joint, joint.value(r.value).def, Half::forward, view.halves_);
  }
  std::vector<NodeId> late_effects;
  for (NodeId n = joint.first_node(); n.valid(); n = joint.next_node(n)) {
    if (!has(traits_of(joint.node(n)), Trait::effect)) continue;
    if (late[n.v])
      late_effects.push_back(n);
    else
      mark(joint, n, Half::forward, view.halves_);
  }
  for (const NodeId n : late_effects) mark(joint, n, Half::either, view.halves_);
  for (const Return& r : joint.returns())
    if (r.kind == ReturnKind::grad)
      mark(joint, joint.value(r.value).def, Half::either, view.halves_);
  for (NodeId n = joint.first_node(); n.valid(); n = joint.next_node(n))
    for (ValueId in : joint.node(n).inputs) {
      if (!in.valid() || view.half(n) == Half::neither || view.forward_can_compute(in)) continue;
      if (view.half(n) == Half::forward)
        return user_error("@{}: a result or update needs the tangent %{}: only gradients may\n  {}",
                          joint.name(), joint.name(in), print_node(joint, n));
      view.halves_[n.v] = Half::backward;
    }
  return view;
}

std::vector<bool> forward_calls(const Graph& g, size_t results) {
  std::vector<Half> needed(g.node_capacity(), Half::neither);
  size_t seen = 0;
  for (const Return& r : g.returns())
    if (r.kind == ReturnKind::result && (results == 0 || seen++ < results))
      mark(g, g.value(r.value).def, Half::forward, needed);
  // Calls before the last needed one belong to the forward too: updates of running statistics.
  std::vector<bool> forward(g.node_capacity());
  bool is_after = true;
  for (NodeId n = g.last_node(); n.valid(); n = g.prev_node(n)) {
    is_after = is_after && needed[n.v] != Half::forward;
    forward[n.v] = !is_after;
  }
  return forward;
}

Result<JointView> JointView::of_program(const Graph& g, size_t results) {
  JointView view(g);
  const std::vector<bool> forward = forward_calls(g, results);
  for (const Return& r : g.returns())
    if (r.value.valid()) mark(g, g.value(r.value).def, Half::backward, view.halves_);
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) {
    if (has(traits_of(g.node(n)), Trait::effect)) mark(g, n, Half::backward, view.halves_);
    if (forward[n.v] && view.half(n) == Half::backward) view.halves_[n.v] = Half::forward;
  }
  return view;
}

bool JointView::forward_can_compute(ValueId v) const {
  const NodeId n = graph_->value(v).def;
  return n.valid() ? half(n) != Half::backward : !is_tangent(*graph_, v);
}

ValueId storage_of(const Graph& g, ValueId v) {
  for (NodeId n = g.value(v).def; n.valid(); n = g.value(v).def) {
    const Node& node = g.node(n);
    if (!has(node.op->traits, Trait::view) || node.inputs.empty() || !node.inputs[0].valid()) break;
    v = node.inputs[0];
  }
  return v;
}

int64_t hint_bytes_of(const Graph& g, ValueId v) {
  const Type& t = g.type(v);
  return t.is_none ? 0 : g.env().hint_of(t.numel()) * size_of(t.dtype);
}

}  // namespace cleave
