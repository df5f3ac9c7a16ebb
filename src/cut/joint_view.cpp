#include "cut/joint_view.h"

#include "ir/text.h"

namespace cleave {
namespace {

// Marks the unmarked nodes that v needs.
void mark(const Graph& g, ValueId v, Half half, std::vector<Half>& halves) {
  std::vector<ValueId> open{v};
  while (!open.empty()) {
    const NodeId n = g.value(open.back()).def;
    open.pop_back();
    if (!n.valid() || halves[n.v] != Half::neither) continue;
    halves[n.v] = half;
    for (ValueId in : g.node(n).inputs)
      if (in.valid()) open.push_back(in);
  }
}

bool is_tangent(const Graph& g, ValueId v) {
  const Placeholder* p = v.valid() ? g.placeholder_of(v) : nullptr;
  return p && p->role == Role::tangent;
}

}  // namespace

Result<JointView> JointView::make(const Graph& joint) {
  JointView view(joint);
  bool any_gradient = false;
  for (const Return& r : joint.returns()) {
    if (r.kind == ReturnKind::grad)
      any_gradient = true;
    else if (is_tangent(joint, r.value))
      return user_error("@{}: the tangent %{} is returned as a result", joint.name(),
                        joint.name(r.value));
    else
      mark(joint, r.value, Half::forward, view.halves_);
  }
  if (!any_gradient)
    return user_error("@{}: returns no gradient, expected a joint graph", joint.name());
  for (const Return& r : joint.returns())
    if (r.kind == ReturnKind::grad) mark(joint, r.value, Half::either, view.halves_);
  for (NodeId n = joint.first_node(); n.valid(); n = joint.next_node(n))
    for (ValueId in : joint.node(n).inputs) {
      if (!in.valid() || view.half(n) == Half::neither || view.is_known_early(in)) continue;
      if (view.half(n) == Half::forward)
        return user_error("@{}: a result or update needs the tangent %{}: only gradients may\n  {}",
                          joint.name(), joint.name(in), print_node(joint, n));
      view.halves_[n.v] = Half::backward;
    }
  return view;
}

bool JointView::is_known_early(ValueId v) const {
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
