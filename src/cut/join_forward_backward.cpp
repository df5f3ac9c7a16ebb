#include "cut/join_forward_backward.h"

#include <unordered_map>

#include "ir/edit.h"

namespace cleave {
namespace {

using ValueMap = std::unordered_map<uint32_t, ValueId>;

std::vector<NodeId> calls_of(const Graph& g) {
  std::vector<NodeId> out;
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) out.push_back(n);
  return out;
}

}  // namespace

Result<Graph> join_forward_backward(const Graph& joint, const Partition& cut) {
  Graph out(joint.name());
  ValueMap forward, backward;
  for (const Placeholder& p : joint.placeholders()) {
    const std::string& name = joint.name(p.value);
    CLEAVE_TRY(const ValueId v,
               out.add_placeholder(p.role, name, joint.type(p.value), p.wants_grad, p.sym));
    forward[cut.forward.find(name).v] = v;
    backward[cut.backward.find(name).v] = v;
  }
  CLEAVE_CHECK(copy_nodes(cut.forward, calls_of(cut.forward), out, forward));
  const auto& returns = cut.forward.returns();
  const size_t results = returns.size() - cut.saved.size();
  for (size_t k = 0; k < cut.saved.size(); ++k)
    backward[cut.backward.find(cut.saved[k].name).v] = forward.at(returns[results + k].value.v);
  CLEAVE_CHECK(copy_nodes(cut.backward, calls_of(cut.backward), out, backward));
  size_t given = 0, made = 0;  // returns of the halves seen so far
  for (const Return& r : joint.returns()) {
    const bool grad = r.kind == ReturnKind::grad;
    if (grad ? made == cut.backward.returns().size() : given == results)
      return bug("@{}: the halves return less than the joint graph", joint.name());
    const ValueId v = grad ? backward.at(cut.backward.returns()[made++].value.v)
                           : forward.at(returns[given++].value.v);
    const ValueId target = r.target.valid() ? out.find(joint.name(r.target)) : ValueId{};
    out.add_return({v, r.kind, target});
  }
  return out;
}

}  // namespace cleave
