#include "inspect/program_phases.h"

#include <algorithm>

#include "cut/joint_view.h"

namespace cleave {
namespace {

std::vector<bool> behind_first_tangent(const Graph& g) {
  std::vector<bool> late(g.node_capacity()), on_tangent(g.value_capacity());
  for (const Placeholder& p : g.placeholders()) on_tangent[p.value.v] = p.role == Role::tangent;
  bool any = false;
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) {
    const Node& node = g.node(n);
    any |=
        std::ranges::any_of(node.inputs, [&](ValueId v) { return v.valid() && on_tangent[v.v]; });
    late[n.v] = any;
  }
  return late;
}

}  // namespace

ProgramKind kind_of(const Graph& g) {
  if (g.is_joint()) return ProgramKind::joint;
  const bool has_loss = !g.returns().empty() && g.returns()[0].kind == ReturnKind::result;
  const bool trains = std::ranges::any_of(g.returns(), [&](const Return& r) {
    const Placeholder* p = r.kind == ReturnKind::update ? g.placeholder_of(r.target) : nullptr;
    return p != nullptr && p->role == Role::param;
  });
  return has_loss && trains ? ProgramKind::step : ProgramKind::forward;
}

std::vector<bool> late_calls(const Graph& g) {
  switch (kind_of(g)) {
    case ProgramKind::joint: return behind_first_tangent(g);
    case ProgramKind::step: {
      std::vector<bool> late = forward_calls(g, 1);
      late.flip();
      return late;
    }
    case ProgramKind::forward: break;
  }
  return std::vector<bool>(g.node_capacity());
}

}  // namespace cleave
