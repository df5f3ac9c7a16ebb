#include "lower/lower_foreign.h"

#include "lower/lower_copy.h"

namespace cleave {

using namespace cleave::loop;

Status lower_foreign(Lowering& l, NodeId n, const ForeignRule& rule) {
  const Node& node = l.graph.node(n);
  const OpView op = l.graph.view(n);
  ForeignCall call;
  CLEAVE_TRY(call.code, rule.code(op));
  for (const ValueId v : node.inputs) {
    if (!v.valid()) {
      call.operands.emplace_back();
      continue;
    }
    const MemRef& at = l.values.at(v);
    const bool is_dense = at.layout.is_contiguous();
    call.operands.emplace_back(
        (is_dense ? at : dense_copy(l, at, l.graph.type(v).dtype, l.graph.name(v))).storage);
  }
  for (uint32_t k = 0; k < node.output_count; ++k)
    call.results.push_back(l.values.make_dense(node.out(k)).storage);
  l.add_thunk(l.graph.name(node.out(0)), std::move(call));
  return {};
}

}  // namespace cleave
