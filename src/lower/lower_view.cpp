#include "lower/lower_view.h"

#include "lower/lower_copy.h"

namespace cleave {

using namespace cleave::loop;

Status lower_view(Lowering& l, NodeId n, const ViewRule& rule) {
  const Node& node = l.graph.node(n);
  const OpView op = l.graph.view(n);
  for (uint32_t k = 0; k < node.output_count; ++k) {
    const ValueId v = node.out(k);
    if (op.out_type(static_cast<int>(k)).is_none || !l.values.is_wanted(v)) continue;
    MemRef in = l.values.at(node.inputs[0]);
    auto layout = rule.layout(op, in.layout, static_cast<int>(k));
    if (!layout) {
      in = dense_copy(l, in, l.graph.type(node.inputs[0]).dtype, l.graph.name(v));
      layout = rule.layout(op, in.layout, static_cast<int>(k));
      if (!layout) return bug("{}: no view of row-major memory", op.name());
    }
    l.values.put(v, {in.storage, *layout});
  }
  return {};
}

}  // namespace cleave
