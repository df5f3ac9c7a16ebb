// The elements that the calls of a group read of each other's results, as indices over the frame.
#pragma once
#include <set>
#include <unordered_set>

#include "loop/index_math.h"
#include "loop/kernel.h"
#include "loop/kernel_builder.h"
#include "schedule/group_plan.h"
#include "schedule/index_key.h"

namespace cleave {

class GroupReads {
 public:
  GroupReads(const Graph& graph, const std::vector<NodeId>& nodes, const GroupPlan& plan);

  // The index of v's current element; row_index: of a value with one element per row.
  loop::Exprs element_index(ValueId v);
  loop::Exprs row_index(ValueId v);
  loop::Exprs own_index(ValueId v);

  bool is_inside(ValueId v) const { return inside_.contains(v.v); }

  struct Read {
    ValueId value;
    loop::Exprs index;
  };
  // Whether neighbours in the row read elements of `read` whose places in dense memory are more
  // than a line apart, or where nothing is known of them.
  bool is_apart(const Read& read);

  // The reads of the elementwise call or view that makes v, for the element `index` of v. Errors:
  // bug, a view that row-major memory doesn't allow.
  Result<std::vector<Read>> reads(ValueId v, const loop::Exprs& index);

  // Visits everything inside the group that its folds and results read, in any order, each element
  // once. visit(read) -> Result<bool>: whether to go on to what that value reads.
  template <class Visit>
  Status walk(const std::vector<ValueId>& results, Visit&& visit) {
    std::vector<Read> open = roots(results);
    while (!open.empty()) {
      const Read read = std::move(open.back());
      open.pop_back();
      if (!is_inside(read.value) || !seen_.insert(index_key(read.value, read.index)).second)
        continue;
      CLEAVE_TRY(const bool further, visit(read));
      if (!further) continue;
      CLEAVE_TRY(const std::vector<Read> next, reads(read.value, read.index));
      open.insert(open.end(), next.begin(), next.end());
    }
    return {};
  }

 private:
  std::vector<Read> roots(const std::vector<ValueId>& results);

  const Graph& graph_;
  const GroupPlan& plan_;
  loop::Kernel nothing_;
  loop::KernelSheet sheet_;
  loop::IndexMath math_;
  loop::Expr element_, row_;
  loop::Expr next_;  // in which neighbours in the row differ; undefined: a row is an element
  std::unordered_set<uint32_t> inside_;
  std::set<IndexKey> seen_;
};

}  // namespace cleave
