#include "pass/call_order.h"

#include "ir/subgraph.h"

namespace cleave {

bool has_effect(const Graph& g) {
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n))
    if (has(traits_of(g.node(n)), Trait::effect)) return true;
  return false;
}

std::vector<bool> returned_values(const Graph& g) {
  std::vector<bool> is_returned(g.value_capacity());
  for (const Return& r : g.returns())
    if (r.value.valid()) is_returned[r.value.v] = true;
  return is_returned;
}

std::vector<size_t> positions(const Graph& g) {
  std::vector<size_t> at(g.node_capacity());
  size_t next = 0;
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) at[n.v] = next++;
  return at;
}

}  // namespace cleave
