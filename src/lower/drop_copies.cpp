#include "lower/drop_copies.h"

#include "ir/subgraph.h"
#include "loop/lower_rule.h"
#include "schedule/read_recorder.h"

namespace cleave {

using namespace cleave::loop;

namespace {

bool equal_types(const Type& a, const Type& b) {
  return !a.is_none && !b.is_none && a.dtype == b.dtype && a.shape == b.shape &&
         a.strides == b.strides && a.device == b.device;
}

// The operand that the call gives as it is; none.
ValueId copied(const Graph& g, NodeId n) {
  const Node& node = g.node(n);
  if (node.output_count != 1 || !node.op->lower.present() || has(node.op->traits, Trait::effect))
    return {};
  bool candidate = false;
  for (const ValueId v : node.inputs)
    candidate |= v.valid() && equal_types(g.type(v), g.type(node.out(0)));
  const OpView op = g.view(n);
  const ElementwiseRule* rule = candidate ? elementwise_rule(**node.op->lower, op) : nullptr;
  if (!rule || !rule->in_range) return {};
  Kernel nothing;
  KernelSheet sheet(nothing);
  Exprs index;
  for (size_t d = 0; d < op.out_type(0).shape.size(); ++d)
    index.push_back(make_var(sheet.next_var++, "i", DType::i64));
  ReadRecorder recorder(g, n, sheet);
  const Exprs values = rule->value(recorder, op, index);
  if (!nothing.body.empty()) return {};
  for (const ReadRecorder::Read& r : recorder.reads()) {
    if (&*r.value != &*values[0]) continue;
    const ValueId v = node.inputs[static_cast<size_t>(r.flat)];
    bool same = equal_types(g.type(v), g.type(node.out(0)));
    for (size_t d = 0; same && d < index.size(); ++d) same = &*r.index[d] == &*index[d];
    return same ? v : ValueId{};
  }
  return {};
}

int64_t drop_in(Graph& g) {
  int64_t dropped = 0;
  for (const NodeId n : g.order()) {
    const ValueId from = copied(g, n);
    if (!from.valid()) continue;
    g.replace_uses(g.node(n).out(0), from);
    g.erase(n);
    ++dropped;
  }
  return dropped;
}

}  // namespace

int64_t drop_copies(Graph& graph) {
  int64_t dropped = drop_in(graph);
  value_or_bug(rewrite_subgraphs(graph, [&](Graph& sub) -> Result<bool> {
    const int64_t inside = drop_in(sub);
    dropped += inside;
    return inside > 0;
  }));
  return dropped;
}

}  // namespace cleave
