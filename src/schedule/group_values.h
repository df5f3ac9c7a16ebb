// The values of a group of calls that become one kernel, as expressions at an index: a value that
// isn't stored is computed where it is read.
//
//   %a = mul(%x, %w)    %b = add(%a, %y)      value(%b, [i, j]) = x[i*8 + j] * w[j] + y[i*8 + j]
//
// Views map the index. A value that several calls read is computed once per pass and named; what
// doesn't depend on inner loops is hoisted out of them (value_scopes.h). Results of folds are
// variables that the writer of the loops sets (group_kernel.h).
#pragma once
#include "loop/lower_rule.h"
#include "schedule/access_log.h"
#include "schedule/value_scopes.h"
#include "schedule/value_sources.h"

namespace cleave {

class GroupValues {
 public:
  // Records all reads in `accesses`.
  GroupValues(const Graph& graph, const std::vector<NodeId>& nodes, loop::KernelSheet& sheet,
              AccessLog& accesses);

  loop::IndexMath& math() { return math_; }
  ValueSources& sources() { return sources_; }
  ValueScopes& scopes() { return scopes_; }

  // The value at an index of its own shape, rounded to its dtype.
  loop::Expr value(ValueId v, const loop::Exprs& index);
  // The random calls so far, in the order of the kernel's scalars.
  const std::vector<NodeId>& streams() const { return streams_; }

 private:
  friend class CallBuilder;
  loop::Exprs through_view(const OpView& op, const loop::ViewRule& rule, int k,
                           const loop::Exprs& index);
  // Computes all results of the call; returns that of v.
  // The element of a value that is kept; undefined: it isn't.
  loop::Expr from_kept(ValueId v, const loop::Exprs& index);
  // The place in the row of the value's element; undefined: it is in another row.
  loop::Expr place_in_row(ValueId v, const loop::Exprs& index, const ValueSources::KeptRow& kept);
  loop::Expr compute(ValueId v, NodeId n, const loop::Exprs& index, size_t depth);
  loop::Exprs results(NodeId n, const loop::Exprs& index);
  loop::Expr outside(ValueId v, const loop::Exprs& index);
  loop::Expr named(ValueId v, loop::Expr e, size_t depth);

  const Graph& graph_;
  loop::KernelSheet& sheet_;
  AccessLog& accesses_;
  loop::IndexMath math_;
  ValueSources sources_;
  ValueScopes scopes_;
  std::vector<NodeId> streams_;
  bool guarded_ = false;  // in an operand that may be out of range: names and hoists nothing
};

// The element's offset in its buffer.
loop::Expr address_of(loop::IndexMath& math, const loop::Layout& layout, const loop::Exprs& index);

}  // namespace cleave
