// The state shared by the writers of a group's loops (group_writers.h): the calls, their plan, the
// kernel, and the mapping from elements of the frame to indices and values.
#pragma once
#include "schedule/access_log.h"
#include "schedule/group_kernel.h"
#include "schedule/group_plan.h"
#include "schedule/group_values.h"

namespace cleave {

struct GroupCalls {
  const Graph& graph;
  const std::vector<NodeId>& nodes;
  const std::vector<std::pair<ValueId, loop::Bound>>& operands;
  const std::vector<GroupResult>& results;
};

// An element of the frame: its row-major number, its row's number, and its number in the row.
struct FrameElement {
  loop::Expr number, row, inner;
};

struct GroupContext {
  GroupContext(const GroupCalls& calls, const GroupPlan& plan, loop::Kernel& kernel,
               const LoopChoices& loops);

  loop::IndexMath& math() { return values.math(); }
  bool is_full(ValueId v) const { return plan.is_full(calls.graph, v); }
  // Declares that the variable is in [0, extent); returns 0 if the extent is 1.
  loop::Expr declared(const loop::Expr& var, int64_t extent);

  // Names a value in the innermost scope. Where it is read, it is in [0, extent).
  loop::Expr let(loop::Expr value, const char* name, int64_t extent);

  // Sets the current element by its index in the frame: reads and stores from here on belong to it,
  // in this pass over its row.
  FrameElement element(const loop::Exprs& parts, size_t pass = 0);
  FrameElement numbered(const loop::Expr& number);  // where the frame has no rows
  // The index of the frame's row dims from the row's number; other dims stay undefined.
  loop::Exprs row_parts(const loop::Expr& row);

  // The index in v of a row-major number; index_at: of the element `at`, or of its row if v has one
  // element per row.
  loop::Exprs index_of(const loop::Expr& number, ValueId v);
  loop::Exprs index_at(const FrameElement& at, ValueId v) {
    return index_of(is_full(v) ? plan.number_in(math(), v, at.number) : at.row, v);
  }
  // is_last: the pass doesn't read the element afterwards.
  void store(const loop::Bound& to, const loop::Exprs& index, loop::Expr value,
             bool is_last = false);

  const GroupCalls& calls;
  const GroupPlan& plan;
  const LoopChoices loops;  // of the target
  loop::Kernel& kernel;
  loop::KernelSheet sheet;
  loop::KernelBuilder builder;
  AccessLog accesses;
  GroupValues values;
};

// Opens an innermost scope for values, with the variables of its loops, for its own lifetime.
class OpenScope {
 public:
  OpenScope(GroupContext& c, const loop::Exprs& variables) : scopes_(c.values.scopes()) {
    scopes_.open(variables);
  }
  ~OpenScope() { scopes_.close(); }
  OpenScope(const OpenScope&) = delete;
  OpenScope& operator=(const OpenScope&) = delete;

 private:
  ValueScopes& scopes_;
};

}  // namespace cleave
