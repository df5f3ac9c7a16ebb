#include "lower/add_rows.h"

#include <unordered_set>

#include "ir/builder.h"
#include "ir/subgraph.h"

namespace cleave {
namespace {

using Returned = std::unordered_set<uint32_t>;

bool is_plain_table_gradient(const Graph& g, ValueId v, const Returned& returned) {
  const NodeId n = g.value(v).def;
  if (!n.valid() || g.node(n).op->name != "embedding_dense_backward") return false;
  if (g.use_count(v) != 1 || returned.contains(v.v)) return false;
  const OpView op = g.view(n);
  return op.int_attr("padding_idx") < 0 && !op.bool_attr("scale_grad_by_freq");
}

// Which operand of the sum is such a gradient; -1: none.
int gradient_operand(const Graph& g, NodeId n, const Returned& returned) {
  const Node& node = g.node(n);
  if (node.op->name != "add" || node.inputs.size() != 2) return -1;
  const OpView op = g.view(n);
  const Type& y = op.out_type(0);
  if (y.dtype != DType::f32 && y.dtype != DType::f64) return -1;
  if (!node.inputs[0].valid() || !node.inputs[1].valid() || node.inputs[0] == node.inputs[1])
    return -1;
  if (op.attr("alpha").as_double() != 1) return -1;
  for (int k = 0; k < 2; ++k)
    if (op.in_type(k).dtype != y.dtype || op.in_type(k).shape != y.shape) return -1;
  for (const int k : {1, 0})
    if (is_plain_table_gradient(g, node.inputs[static_cast<size_t>(k)], returned)) return k;
  return -1;
}

Result<bool> add_in(Graph& g, const OpRegistry& ops, int64_t& count) {
  bool changed = false;
  Returned returned;
  for (const Return& r : g.returns()) returned.insert(r.value.v);
  for (const NodeId n : g.order()) {
    const int k = gradient_operand(g, n, returned);
    if (k < 0) continue;
    const Node& node = g.node(n);
    const NodeId gradient = g.value(node.inputs[static_cast<size_t>(k)]).def;
    const ValueId rows = g.node(gradient).inputs[0], indices = g.node(gradient).inputs[1];
    const Type& table = g.type(g.node(n).out(0));
    Builder b(g, ops);
    b.insert_before(n);
    b.set_loc(node.loc);
    b.set_tag(node.tag);
    const Dim reads = g.type(indices).numel();
    const ValueId made = b.call1("index_add",
                                 {node.inputs[static_cast<size_t>(1 - k)], b.view(indices, {reads}),
                                  b.view(rows, {reads, table.shape[1]})},
                                 {{"dim", 0}});
    CLEAVE_CHECK(b.status());
    const std::string name = g.name(g.node(n).out(0));
    g.replace_uses(g.node(n).out(0), made);
    g.erase(n);
    g.erase(gradient);
    CLEAVE_CHECK(g.rename(made, name));
    changed = true;
    ++count;
  }
  return changed;
}

}  // namespace

Result<int64_t> add_rows_in_place(Graph& graph, const OpRegistry& ops) {
  int64_t count = 0;
  const Result<bool> changed = add_in(graph, ops, count);
  if (!changed.ok()) return Failure(changed.failure());
  CLEAVE_CHECK(rewrite_subgraphs(graph, [&](Graph& sub) { return add_in(sub, ops, count); }));
  return count;
}

}  // namespace cleave
