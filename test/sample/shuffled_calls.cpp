#include "test/sample/shuffled_calls.h"

namespace cleave::random {

std::vector<NodeId> shuffled_calls(const Graph& g, std::mt19937_64& rng) {
  std::vector<size_t> missing(g.node_capacity());
  std::vector<std::vector<NodeId>> readers(g.node_capacity());
  std::vector<NodeId> ready, out;
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) {
    for (const ValueId v : g.node(n).inputs)
      if (v.valid() && !v.is_number() && g.value(v).def.valid()) {
        readers[g.value(v).def.v].push_back(n);
        ++missing[n.v];
      }
    if (missing[n.v] == 0) ready.push_back(n);
  }
  while (!ready.empty()) {
    const auto at = ready.begin() + static_cast<std::ptrdiff_t>(rng() % ready.size());
    const NodeId n = *at;
    ready.erase(at);
    out.push_back(n);
    for (const NodeId r : readers[n.v])
      if (--missing[r.v] == 0) ready.push_back(r);
  }
  return out;
}

}  // namespace cleave::random
