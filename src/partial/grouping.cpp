#include "partial/grouping.h"

#include <algorithm>
#include <limits>

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

// By node: whether it may as well run later: it is a view, or depends on placeholders alone.
std::vector<bool> waiting(const Graph& g) {
  std::vector<bool> out(g.node_capacity());
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) {
    const Node& node = g.node(n);
    const bool depends_on_inputs = std::ranges::all_of(node.inputs, [&](ValueId v) {
      return !v.valid() || !g.value(v).def.valid() || out[g.value(v).def.v];
    });
    out[n.v] =
        has(node.op->traits, Trait::view) || (depends_on_inputs && !runs_once(traits_of(node)));
  }
  return out;
}

// What may run later goes to the first region that reads it: a permuted weight crosses no border.
void sink(const Graph& g, const std::vector<bool>& goes_in, std::vector<int32_t>& depth) {
  const std::vector<bool> waits = waiting(g);
  for (NodeId n = g.last_node(); n.valid(); n = g.prev_node(n)) {
    if (!goes_in[n.v] || !waits[n.v]) continue;
    int32_t first = std::numeric_limits<int32_t>::max();
    const Node& node = g.node(n);
    for (uint32_t k = 0; k < node.output_count; ++k)
      for (const Use& use : g.uses(node.out(k))) first = std::min(first, depth[use.node.v]);
    if (first < std::numeric_limits<int32_t>::max()) depth[n.v] = std::max(depth[n.v], first);
  }
}

Groups convex(const Graph& g, const std::vector<bool>& goes_in) {
  std::vector<int32_t> depth = depths(g, goes_in);
  sink(g, goes_in, depth);
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
