#include "partial/grouping.h"

#include <algorithm>

#include "ir/subgraph.h"

namespace cleave {
namespace {

Groups runs(const Graph& g, const std::vector<bool>& goes_in) {
  Groups out;
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) {
    if (!goes_in[n.v] || out.steps.empty() || !out.steps.back().is_region)
      out.steps.push_back({{}, goes_in[n.v]});
    out.steps.back().calls.push_back(n);
  }
  return out;
}

// By node. An inner call is one deeper than the outside calls that it depends on, an outer call as
// deep as what it depends on.
std::vector<int32_t> depths(const Graph& g, const std::vector<bool>& goes_in) {
  std::vector<int32_t> depth(g.node_capacity(), 0);
  NodeId last_effect;
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) {
    int32_t deepest = goes_in[n.v] ? 0 : -1;
    const auto behind = [&](NodeId before) {
      if (!before.valid()) return;
      const int32_t enters = goes_in[n.v] && !goes_in[before.v] ? 1 : 0;
      deepest = std::max(deepest, depth[before.v] + enters);
    };
    for (const ValueId v : g.node(n).inputs)
      if (v.valid()) behind(g.value(v).def);
    if (runs_once(traits_of(g.node(n)))) {
      behind(last_effect);
      last_effect = n;
    }
    depth[n.v] = deepest;
  }
  return depth;
}

Groups convex(const Graph& g, const std::vector<bool>& goes_in) {
  const std::vector<int32_t> depth = depths(g, goes_in);
  int32_t deepest = -1;
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n))
    deepest = std::max(deepest, depth[n.v]);
  std::vector<std::vector<NodeId>> inside(static_cast<size_t>(deepest + 2)), outside = inside;
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n))
    (goes_in[n.v] ? inside : outside)[static_cast<size_t>(depth[n.v] + 1)].push_back(n);
  Groups out;
  for (size_t d = 0; d < inside.size(); ++d) {
    if (!inside[d].empty()) out.steps.push_back({std::move(inside[d]), true});
    for (const NodeId n : outside[d]) out.steps.push_back({{n}, false});
  }
  return out;
}

}  // namespace

Groups group_calls(const Graph& g, const std::vector<bool>& goes_in, Grouping grouping) {
  return grouping == Grouping::runs ? runs(g, goes_in) : convex(g, goes_in);
}

}  // namespace cleave
