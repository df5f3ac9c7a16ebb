#include "lower/decompose.h"

#include "ir/builder.h"
#include "ir/edit.h"
#include "ir/subgraph.h"
#include "loop/lower_rule.h"
#include "lower/attention_in_parts.h"

namespace cleave {
namespace {

using Wanted = std::function<bool(const OpView&)>;

Wanted lowered_by_decomposition(bool on_gpu) {
  return [on_gpu](const OpView& op) {
    return (op.def().lower.present() && (*op.def().lower)->decomposes(op, on_gpu)) ||
           (on_gpu && (runs_in_parts(op) || attention_slice(op) > 0));
  };
}

// Returns whether any was replaced.
Result<bool> decompose_nodes(Graph& graph, const OpRegistry& ops, const Wanted& wanted,
                             bool on_gpu) {
  bool changed = false;
  // New nodes are inserted before the old one, so a walk from the back visits each of them once.
  NodeId n = graph.last_node();
  while (n.valid()) {
    const Node& node = graph.node(n);
    if (!wanted(graph.view(n))) {
      n = graph.prev_node(n);
      continue;
    }
    if (!node.op->decompose.present())
      return bug("{}: to be decomposed, but has no decomposition: {}", node.op->name,
                 node.op->decompose.reason());
    Builder b(graph, ops);
    b.insert_before(n);
    b.set_loc(node.loc);
    b.set_tag(node.tag);
    const size_t known = graph.value_capacity();
    const int64_t items = on_gpu ? attention_slice(graph.view(n)) : 0;
    const int64_t keys = on_gpu && items == 0 ? lacking_keys(graph.view(n)) : 0;
    Values parts = items > 0  ? sliced_attention(b, graph.view(n), items)
                   : keys > 0 ? padded_attention(b, graph.view(n), keys)
                              : (*node.op->decompose)(b, graph.view(n));
    if (!b.status().ok()) return Failure(b.status().failure()).within(node.op->name);
    std::vector<std::string> names;
    for (uint32_t k = 0; k < node.output_count; ++k) {
      names.push_back(graph.name(node.out(k)));
      // A result that isn't wanted (output_mask) has no users, and no value in the decomposition.
      if (parts[k].valid()) graph.replace_uses(node.out(k), parts[k]);
    }
    changed = true;
    NodeId before = graph.prev_node(n);
    graph.erase(n);
    for (size_t k = 0; k < names.size(); ++k)  // a new value keeps the name if it is free
      if (parts[k].valid() && parts[k].v >= known && !graph.find(names[k]).valid())
        CLEAVE_CHECK(graph.rename(parts[k], names[k]));
    n = before;
  }
  CLEAVE_CHECK(graph.refresh_types());
  return changed;
}

Status decompose_all(Graph& graph, const OpRegistry& ops, const Wanted& wanted, bool on_gpu) {
  const Result<bool> changed = decompose_nodes(graph, ops, wanted, on_gpu);
  if (!changed.ok()) return Failure(changed.failure());
  CLEAVE_CHECK(rewrite_subgraphs(
      graph, [&](Graph& sub) { return decompose_nodes(sub, ops, wanted, on_gpu); }));
  eliminate_dead_code(graph);
  return {};
}

}  // namespace

Status decompose_for_lowering(Graph& graph, const OpRegistry& ops, bool on_gpu) {
  return decompose_all(graph, ops, lowered_by_decomposition(on_gpu), on_gpu);
}

Status decompose_calls(Graph& graph, const OpRegistry& ops, const Wanted& wanted) {
  return decompose_all(graph, ops, wanted, false);
}

}  // namespace cleave
