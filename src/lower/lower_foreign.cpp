#include "lower/lower_foreign.h"

#include "ir/changed_operand.h"
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
  for (uint32_t k = 0; k < node.output_count; ++k) {
    const int changed = changed_operand(op.def().schema, static_cast<int>(k));
    if (changed < 0) {
      call.results.push_back(l.values.make_dense(node.out(k)).storage);
      continue;
    }
    // The code changes a copy, which goes where nothing else reads the operand (reuse_dead.h,
    // update_in_place.h).
    const auto at = static_cast<size_t>(op.flat(changed));
    const ValueId v = node.inputs[at];
    const MemRef copy =
        dense_copy(l, l.values.at(v), l.graph.type(v).dtype, l.graph.name(node.out(k)));
    call.operands[at] = copy.storage;
    call.results.push_back(l.values.put(node.out(k), copy).storage);
  }
  const bool may_throw = call.code.call != nullptr;
  l.add_thunk(l.graph.name(node.out(0)), std::move(call));
  l.program.thunks.back().may_fail = may_throw;
  return {};
}

}  // namespace cleave
