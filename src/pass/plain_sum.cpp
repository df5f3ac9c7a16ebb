#include "pass/plain_sum.h"

#include "ir/op_view.h"

namespace cleave {

bool is_plain_sum(const Graph& g, NodeId n) {
  const Node& node = g.node(n);
  if (node.op->name != "add" || node.inputs.size() != 2) return false;
  const OpView op = g.view(n);
  if (!node.inputs[0].valid() || !node.inputs[1].valid()) return false;
  if (op.attr("alpha").as_double() != 1) return false;
  for (int k = 0; k < 2; ++k)
    if (op.in_type(k).dtype != op.out_type(0).dtype || op.in_type(k).shape != op.out_type(0).shape)
      return false;
  return true;
}

}  // namespace cleave
