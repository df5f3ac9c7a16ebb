#include "lower/lower_node.h"

#include "lower/lower_branch.h"
#include "lower/lower_cast.h"
#include "lower/lower_foreign.h"
#include "lower/lower_group.h"
#include "lower/lower_kernel.h"
#include "lower/lower_library.h"
#include "lower/lower_loop.h"
#include "lower/lower_rows.h"
#include "lower/lower_view.h"

namespace cleave {

using namespace cleave::loop;

namespace {

struct LowerByForm {
  Lowering& l;
  NodeId n;

  Status operator()(const ElementwiseRule&) {
    if (!lower_cast(l, n)) lower_call(l, n);
    return {};
  }
  Status operator()(const ReductionRule&) {
    lower_call(l, n);
    return {};
  }
  Status operator()(const KernelRule& r) {
    lower_kernel(l, n, r);
    return {};
  }
  Status operator()(const LibraryRule& r) {
    const std::optional<LibraryForm> form = r.form(l.graph.view(n));
    if (!form) return not_decomposed();
    lower_library(l, n, *form);
    return {};
  }
  Status operator()(const ViewRule& r) { return lower_view(l, n, r); }
  Status operator()(const ForeignRule& r) { return lower_foreign(l, n, r); }
  Status operator()(const BranchRule&) { return lower_branch(l, n); }
  Status operator()(const LoopRule&) { return lower_loop(l, n); }
  Status operator()(const GroupRule&) { return lower_group(l, n); }
  Status operator()(const RowsRule&) { return lower_rows(l, n); }
  Status operator()(const DecompositionRule&) { return not_decomposed(); }

  Status not_decomposed() const { return bug("{} was not decomposed", l.graph.view(n).name()); }
};

Status lower_node(Lowering& l, NodeId n) {
  const OpDef& op = *l.graph.node(n).op;
  if (!op.lower.present())
    return unsupported("{} has no lowering: {}{}", op.name, op.lower.reason(),
                       op.file.empty() ? "" : " (" + op.file + ")");
  return std::visit(LowerByForm{l, n}, (*op.lower)->form);
}

}  // namespace

Status lower_nodes(Lowering& l) {
  const Graph& g = l.graph;
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) {
    const size_t first_thunk = l.program.thunks.size();
    if (Status s = lower_node(l, n); !s.ok()) {
      const Node& node = g.node(n);
      const std::string where = g.loc_text(node.loc);
      return std::move(s).failure().within(fmt::format("lower: %{}{}", g.name(node.out(0)),
                                                       where.empty() ? "" : " (" + where + ")"));
    }
    for (size_t i = first_thunk; i < l.program.thunks.size(); ++i) l.program.thunks[i].node = n;
  }
  return {};
}

}  // namespace cleave
