#include "lower/lower_rows.h"

#include "lower/lower_copy.h"
#include "lower/lower_subgraph.h"
#include "lower/undo_view.h"

namespace cleave {

using namespace cleave::loop;

namespace {

MemRef rows_of(const MemRef& whole, int64_t piece, int64_t pieces) {
  MemRef out = whole;
  out.layout.shape[0] /= pieces;
  out.layout.offset += piece * out.layout.shape[0] * out.layout.strides[0];
  return out;
}

}  // namespace

Status lower_rows(Lowering& l, NodeId n) {
  const Node& node = l.graph.node(n);
  const OpView op = l.graph.view(n);
  const std::vector<int64_t> split = op.ints_attr("split");
  const int64_t pieces = op.int_attr("pieces");
  const MemRefs operands = list_memory(l, op);
  MemRefs results;
  for (uint32_t k = 0; k < node.output_count; ++k) {
    results.push_back(l.values.make_dense(node.out(k)));
    l.program.in_pieces.push_back(results.back().storage);
  }
  for (int64_t p = 0; p < pieces; ++p) {
    MemRefs handed, wanted;
    for (size_t k = 0; k < operands.size(); ++k)
      handed.push_back(split[k] == 1 ? rows_of(operands[k], p, pieces) : operands[k]);
    for (const MemRef& r : results) wanted.push_back(rows_of(r, p, pieces));
    CLEAVE_TRY(const MemRefs made, inline_subgraph(l, *op.graph_attr("body"), handed, wanted));
    for (size_t k = 0; k < made.size(); ++k) {
      const ValueId v = node.out(static_cast<uint32_t>(k));
      if (made[k].storage != wanted[k].storage || !same_elements(made[k].layout, wanted[k].layout))
        copy(l, made[k], wanted[k], l.graph.type(v).dtype, l.graph.name(v));
    }
  }
  return {};
}

}  // namespace cleave
