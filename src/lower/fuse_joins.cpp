#include "lower/fuse_joins.h"

#include "loop/lower_rule.h"
#include "lower/place.h"

namespace cleave {
namespace {

// Whether the operand is written by a kernel of its own anyway, which can write it into the join's
// result. If not, a fused join computes it.
bool is_made_apart(const Graph& g, const FuseCalls& calls, NodeId join, size_t operand) {
  const Node& node = g.node(join);
  const OpView op = g.view(join);
  const auto& rule = std::get<loop::KernelRule>((*node.op->lower)->form);
  const loop::Layout whole = loop::Layout::contiguous(static_shape(op.out_type(0)));
  ValueId v = node.inputs[operand];
  const std::optional<Wanted> made = made_before_views(g, v, rule.parts(op, whole)[operand]);
  if (!made || g.use_count(v) != 1 || !can_write(g, *made)) return false;
  for (; v != made->value; v = g.node(g.value(v).def).inputs[0])
    if (calls.returned[v.v]) return false;
  if (calls.returned[v.v]) return false;
  const NodeId d = g.value(v).def;
  const FuseCall& c = calls[d];
  if (c.kind == FuseCall::Kind::cheap) return false;
  if (c.kind != FuseCall::Kind::waiting) return true;
  if (is_join(g.view(d))) {
    for (size_t k = 0; k < g.node(d).inputs.size(); ++k)
      if (bytes_of(g, g.node(d).inputs[k]) > 0 && is_made_apart(g, calls, d, k)) return true;
    return false;
  }
  // It is fused with the kernel that makes one of its operands, element by element.
  for (const ValueId leaf : c.materialized_reads) {
    const FuseCall* from = calls.maker_of(g, leaf);
    if (from && from->is_fusible() && from->elements == c.elements &&
        !contains(c.reordered_reads, leaf))
      return true;
  }
  return false;
}

// Writing an operand into the result at once saves a store and a load of it. But each other operand
// that isn't in memory yet then needs a kernel, where one kernel does for all if the join is fused.
bool is_worth_placing(const Graph& g, const FuseCalls& calls, const FuseCosts& costs, NodeId join) {
  const Node& node = g.node(join);
  int64_t saved = 0, more_kernels = -1;
  for (size_t k = 0; k < node.inputs.size(); ++k) {
    const FuseCall* maker = calls.maker_of(g, node.inputs[k]);
    const int64_t bytes = bytes_of(g, node.inputs[k]);
    if (bytes == 0) continue;
    if (is_made_apart(g, calls, join, k))
      saved += 2 * bytes;
    else
      more_kernels += maker && maker->is_fusible();
  }
  return saved > std::max<int64_t>(more_kernels, 0) * costs.launch_bytes;
}

}  // namespace

std::vector<NodeId> find_placed_joins(const Graph& graph, const FuseCalls& calls,
                                      const FuseCosts& costs) {
  std::vector<NodeId> out;
  for (const NodeId n : calls.order)
    if (calls[n].kind == FuseCall::Kind::elementwise && is_join(graph.view(n)) &&
        is_worth_placing(graph, calls, costs, n))
      out.push_back(n);
  return out;
}

}  // namespace cleave
