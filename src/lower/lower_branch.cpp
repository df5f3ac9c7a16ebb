#include "lower/lower_branch.h"

#include "lower/lower_copy.h"
#include "lower/lower_subgraph.h"

namespace cleave {

using namespace cleave::loop;

namespace {

Status add_arm(Lowering& l, NodeId n, const Graph& arm, const MemRefs& operands) {
  const size_t first = l.program.thunks.size(), own = l.program.storages.size();
  CLEAVE_TRY(const MemRefs values, inline_subgraph(l, arm, operands));
  for (size_t k = 0; k < values.size(); ++k) {
    const ValueId v = l.graph.node(n).out(static_cast<uint32_t>(k));
    if (!l.values.is_wanted(v)) continue;
    const MemRef& to = l.values.at(v);
    if (const auto storage = own_storage(l.program, values, k, own))
      replace_storage(l.program, first, *storage, to.storage);
    else
      copy(l, values[k], to, l.graph.type(v).dtype, l.graph.name(v));
  }
  return {};
}

}  // namespace

Status lower_branch(Lowering& l, NodeId n) {
  const Node& node = l.graph.node(n);
  const OpView op = l.graph.view(n);
  const MemRefs operands = list_memory(l, op);
  const std::string& name = l.graph.name(node.out(0));
  for (uint32_t k = 0; k < node.output_count; ++k) l.values.make_dense(node.out(k));
  const size_t to_otherwise = add_jump(l, name, l.values.at(op.in(0)));
  CLEAVE_CHECK(add_arm(l, n, *op.graph_attr("then"), operands));
  const size_t to_end = add_jump(l, name, {});
  set_target(l.program, to_otherwise);
  CLEAVE_CHECK(add_arm(l, n, *op.graph_attr("otherwise"), operands));
  set_target(l.program, to_end);
  return {};
}

}  // namespace cleave
