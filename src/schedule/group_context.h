// What the writers of a group's loops share (group_writers.h): the calls, their plan, the kernel
// that is written, and from an element of the frame to indices and values.
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

// An element of the frame: its number, the number of its row, and its number within the row.
struct FrameElement {
  loop::Expr number, row, inner;
};

struct GroupContext {
  GroupContext(const GroupCalls& calls, const GroupPlan& plan, loop::Kernel& kernel);

  loop::IndexMath& math() { return values.math(); }
  bool is_full(ValueId v) const { return plan.is_full(calls.graph, v); }
  // The variable, with values in [0, extent); 0 where that is all.
  loop::Expr declared(const loop::Expr& var, int64_t extent);

  // A name, in the innermost scope, for a number that is read in [0, extent).
  loop::Expr let(loop::Expr value, const char* name, int64_t extent);

  // Goes to the element at this index, one part for each of the frame's: what is read and stored
  // from here on belongs to it, in this pass over its row.
  FrameElement element(const loop::Exprs& parts, size_t pass = 0);
  FrameElement numbered(const loop::Expr& number);  // without rows
  // The parts of the frame that are rows, from the number of the row; others aren't defined.
  loop::Exprs row_parts(const loop::Expr& row);

  // The index of v's element with this row-major number; of the element `at` or, where v has one
  // for each row, of its row.
  loop::Exprs index_of(const loop::Expr& number, ValueId v);
  loop::Exprs index_at(const FrameElement& at, ValueId v) {
    return index_of(is_full(v) ? at.number : at.row, v);
  }
  // is_last: its pass reads nothing of the element afterwards.
  void store(const loop::Bound& to, const loop::Exprs& index, loop::Expr value,
             bool is_last = false);

  const GroupCalls& calls;
  const GroupPlan& plan;
  loop::Kernel& kernel;
  loop::KernelSheet sheet;
  loop::KernelBuilder builder;
  AccessLog accesses;
  GroupValues values;
};

// The innermost scope of the values, with the variables of its loops, as long as this lives.
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
