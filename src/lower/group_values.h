// The values of a group of calls that become one kernel, as expressions at an index: what isn't
// stored is computed where it is read.
//
//   %a = mul(%x, %w)    %b = add(%a, %y)      value(%b, [i, j]) = x[i*8 + j] * w[j] + y[i*8 + j]
//
// Views map the index. A value that several calls read is computed once in each pass and named;
// what doesn't depend on the inner loops stands outside of them. Folded values are variables, given
// by the writer of the loops (group_kernel.h).
#pragma once
#include <map>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "loop/index_math.h"
#include "loop/kernel_builder.h"
#include "loop/lower_rule.h"
#include "lower/access_log.h"

namespace cleave {

class GroupValues {
 public:
  GroupValues(const Graph& graph, const std::vector<NodeId>& nodes, loop::KernelSheet& sheet,
              AccessLog& accesses);

  // The value is stored as well.
  void add_use(ValueId v) { ++uses_[v.v]; }
  // A value from outside, in a buffer of the kernel.
  void bind(ValueId v, loop::Bound at) { outside_.emplace(v.v, std::move(at)); }
  bool is_inside(ValueId v) const { return def_in_group(v).valid(); }
  loop::IndexMath& math() { return math_; }

  // ---- scopes: the innermost open block, and the variables of its loops
  void open_scope(const loop::Exprs& variables);
  void close_scope();
  // Declares what stands in the innermost scope but wasn't made by value().
  void own(const loop::Expr& variable);

  // The value at an index of its own shape, as it is when stored: rounded to its dtype.
  loop::Expr value(ValueId v, const loop::Exprs& index);
  // The operand of a call, as value().
  loop::Expr operand(NodeId n, int flat, const loop::Exprs& index);
  // From here on the fold's result is this variable, at this index alone.
  void set_folded(ValueId v, const loop::Exprs& index, loop::Expr variable);
  // From here on the value is read from the buffer, at this index alone.
  void set_kept(ValueId v, const loop::Exprs& index, int64_t buffer, DType dtype, loop::Expr at);

  loop::Expr address(const loop::Layout& layout, const loop::Exprs& index);
  // The random calls met, in the order of the kernel's scalars.
  const std::vector<NodeId>& streams() const { return streams_; }

 private:
  friend class CallBuilder;
  using Key = std::vector<uintptr_t>;  // the value, then its index
  struct Scope {
    loop::Block* block;
    std::map<Key, loop::Expr> known;
    std::unordered_map<const loop::ExprNode*, loop::Expr> named_parts;  // of indices
  };
  struct Kept {
    loop::Exprs index;
    int64_t buffer;
    DType dtype;
    loop::Expr at;
  };
  NodeId def_in_group(ValueId v) const;
  size_t depth_of(const loop::Exprs& index);
  const loop::Expr* known(const Key& key, size_t depth) const;
  Key key_of(ValueId v, const loop::Exprs& index) const;
  loop::Exprs compute(NodeId n, const loop::Exprs& index);  // all results
  loop::Expr named(ValueId v, loop::Expr e, size_t depth);
  loop::Expr outside(ValueId v, const loop::Exprs& index);
  // An expression without a name that was written before is written once more, maybe in a loop
  // further inside: it reads its operands there.
  void record_reads_of(const loop::Expr& e);
  loop::Exprs through_view(const OpView& op, const loop::ViewRule& rule, int k,
                           const loop::Exprs& index);
  // Long parts of an index get names: views of views read what is below them several times each.
  void name_long_parts(loop::Exprs& index, const std::vector<int64_t>& shape);
  bool is_shared(ValueId v) const;
  struct Extent {
    size_t operations;  // written out, parts as often as they are read
    bool reads_memory;
  };
  Extent extent_of(const loop::Expr& e);
  void adopt(int64_t first_variable, size_t depth);

  const Graph& graph_;
  loop::KernelSheet& sheet_;
  AccessLog& accesses_;
  loop::IndexMath math_;
  std::unordered_map<uint32_t, uint32_t> uses_;  // of values inside, by calls of the group
  std::unordered_map<uint32_t, bool> nodes_;
  std::unordered_map<uint32_t, loop::Bound> outside_;
  std::unordered_map<uint32_t, std::pair<loop::Exprs, loop::Expr>> folded_;
  std::unordered_map<uint32_t, Kept> kept_;
  std::vector<Scope> scopes_;
  std::unordered_map<int64_t, size_t> scope_of_;               // by variable
  std::unordered_map<const loop::ExprNode*, Extent> extents_;  // of those in `sized_`
  loop::Exprs sized_;
  std::unordered_map<uint32_t, int> scalar_of_;  // stream of a node
  std::vector<NodeId> streams_;
  size_t writing_ = 0;    // the scope that is written in
  bool guarded_ = false;  // inside an operand that may not be read: nothing is named or moved
};

}  // namespace cleave
