// How an operator is lowered, in one of eleven forms.
//
//   elementwise   each result element is an expression of operand elements; fuses best
//   reduction     folds an operand over dims
//   kernel        loops written by hand (scatter, sort, windows)
//   view          the result is a view of operand 0's memory, or a copy if that isn't possible
//   library       a library call (products, attention, convolutions) if the library covers it, else
//                 the entry's decompose
//   decomposition the entry's decompose, before lowering
//   foreign       the host program's own code: C text, or a callback
//   branch, loop  the thunks of subgraphs, and jumps
//   group, rows   the calls of a subgraph as one kernel, or for pieces of rows in turn
#pragma once
#include <functional>
#include <optional>
#include <variant>

#include "library/host_code.h"
#include "loop/kernel_builder.h"
#include "loop/library_rule.h"

namespace cleave::loop {

// All results at the multi-index of result 0 (results of an elementwise rule have equal shapes).
// Loads, checks and streams go through the builder.
struct ElementwiseRule {
  std::function<Exprs(KernelBuilder&, const OpView&, const Exprs& index)> value;
  // Whether every load is in range even if its value isn't used: operands may then be computed
  // where they are read, before the rule selects. False: a load may be in a branch of a select that
  // isn't taken.
  bool in_range = false;
};

// result[kept] = finish(fold over the reduced dims of map(x[all])). `dims` are non-negative.
struct ReductionRule {
  ReduceOp op = ReduceOp::sum;
  std::function<std::vector<int64_t>(const OpView&)> dims;
  std::function<Expr(const OpView&, Expr x)> map;  // to the accumulator's type
  std::function<Expr(const OpView&, Expr folded, int64_t count)> finish;
};

struct KernelRule {
  std::function<void(KernelBuilder&, const OpView&)> build;
  // Calls for which `is_elementwise` holds may also be computed element by element.
  std::optional<ElementwiseRule> elementwise = std::nullopt;
  std::function<bool(const OpView&)> is_elementwise = nullptr;
  // The flat operand of which result 0 is a copy when the loops begin, -1 for none: the loops write
  // only what differs. They may read that operand only where nothing has been written yet.
  std::function<int(const OpView&)> starts_as = nullptr;
  // The flat operand of which the loops read each element once, -1 for none: it may be computed
  // where they read it.
  std::function<int(const OpView&)> streamed = nullptr;
  // The layout of each flat operand within result 0, given that of the result: for calls that only
  // put operands side by side. An operand may then be written there directly. Operands without
  // elements are skipped.
  std::function<std::vector<Layout>(const OpView&, const Layout& result)> parts = nullptr;
};

// The layout of result k as a view of operand 0's storage; nullopt if it needs a copy.
struct ViewRule {
  std::function<std::optional<Layout>(const OpView&, const Layout& in, int k)> layout;
};

struct DecompositionRule {};

using cleave::CustomOpCode;
// The code gets no sizes and attributes: it is made for those of the OpView.
struct ForeignRule {
  std::function<Result<CustomOpCode>(const OpView&)> code;
};

// Operand 0, a bool, selects the attribute `then` or `otherwise`, which takes the list operand.
struct BranchRule {};
// While the attribute `condition` gives true, the attribute `body` maps the first items of the list
// operand, as many as there are results, to their next values.
struct LoopRule {};

// The attribute `body`, whose placeholders stand for the items of the list operand.
struct GroupRule {};
// The attribute `body`, once for each piece of the operands that `split` names.
struct RowsRule {};

struct LowerRule {
  std::variant<ElementwiseRule, ReductionRule, KernelRule, ViewRule, LibraryRule, DecompositionRule,
               ForeignRule, BranchRule, LoopRule, GroupRule, RowsRule>
      form;
  // Whether this call is replaced by its entry's decompose, where it runs on a GPU or not.
  bool decomposes(const OpView& op, bool on_gpu = false) const;
};

// The rule for computing a call element by element; null if there is none.
const ElementwiseRule* elementwise_rule(const LowerRule& rule, const OpView& op);

// Constructors for the entries: `.lower = loop::elementwise(...)`.
using LowerPtr = std::shared_ptr<const LowerRule>;
LowerPtr elementwise(std::function<Exprs(KernelBuilder&, const OpView&, const Exprs&)> value,
                     bool in_range = false);
// One result from operand scalars, broadcast, each in the compute type of its dtype; numbers are
// constants of the result's compute type.
LowerPtr pointwise(std::function<Expr(const OpView&, const Exprs& x)> value);
LowerPtr reduction(ReductionRule rule);
LowerPtr kernel(std::function<void(KernelBuilder&, const OpView&)> build);
LowerPtr kernel(KernelRule rule);
LowerPtr view(std::function<std::optional<Layout>(const OpView&, const Layout&, int)> layout);
LowerPtr library(std::function<std::optional<LibraryForm>(const OpView&)> form);
LowerPtr library_of_host(std::function<std::optional<LibraryForm>(const OpView&)> form);
LowerPtr by_decomposition();
LowerPtr foreign(ForeignRule rule);
LowerPtr branch();
LowerPtr repeat();
LowerPtr group();
LowerPtr by_rows();

}  // namespace cleave::loop
