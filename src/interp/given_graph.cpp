#include "interp/given_graph.h"

#include "interp/interpret.h"

namespace cleave {

std::map<std::string, Array> values_of(const GivenGraph& given) {
  const Result<Graph> specialized =
      is_static(given.g) ? Result<Graph>(given.g) : specialize(given.g, given.symbols);
  if (!specialized.ok()) return {};
  const Graph& g = *specialized;
  std::vector<const Array*> known(g.value_capacity());
  for (size_t i = 0; i < given.inputs.size(); ++i)
    known[g.placeholders()[i].value.v] = &given.inputs[i];
  std::map<std::string, Array> out;
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) {
    const Node& node = g.node(n);
    std::vector<const Array*> operands;
    bool has_all = true;
    for (const ValueId v : node.inputs) {
      operands.push_back(v.valid() ? known[v.v] : nullptr);
      has_all &= !v.valid() || known[v.v] != nullptr;
    }
    if (!has_all) continue;
    Result<Arrays> results = run_node(g, n, operands);
    if (!results.ok()) continue;
    for (uint32_t k = 0; k < node.output_count; ++k) {
      Array& value = (*results)[k];
      for (double& x : value.f) x = round_to(value.dtype, x);
      known[node.out(k).v] = &(out[g.name(node.out(k))] = std::move(value));
    }
  }
  return out;
}

}  // namespace cleave
