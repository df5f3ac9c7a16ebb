// How an operator becomes loops: one of ten forms.
//
//   elementwise   each result element is an expression of operand elements: what fuses best
//   reduction     folds an operand over dims
//   kernel        loops written by hand (scatter, sort, windows)
//   view          the result is a view of operand 0's memory; a copy where that can't be
//   library       one call of the library (products, attention, convolutions) where that covers it,
//                 else the entry's decompose
//   decomposition the entry's decompose, before lowering
//   foreign       the host program's own code: C text, or a callback
//   branch, loop  the thunks of subgraphs, and jumps
//   group         the calls of a subgraph as one kernel
#pragma once
#include <functional>
#include <optional>
#include <variant>

#include "loop/kernel_builder.h"
#include "loop/library_rule.h"

namespace cleave::loop {

// All results at the multi-index of result 0 (results of an elementwise rule have equal shapes).
// Loads, checks and streams go through the builder.
struct ElementwiseRule {
  std::function<Exprs(KernelBuilder&, const OpView&, const Exprs& index)> value;
  // Every load is in range, whatever becomes of it: operands may be computed where they are read,
  // before the rule decides. False: a load may stand in an arm of a select that isn't taken.
  bool in_range = false;
};

// result[kept] = finish(fold over the reduced dims of map(x[all])). `dims` are non-negative.
struct ReductionRule {
  ReduceOp op = ReduceOp::sum;
  std::function<std::vector<int64_t>(const OpView&)> dims;
  std::function<Expr(const OpView&, Expr x)> map;  // to the type that is accumulated
  std::function<Expr(const OpView&, Expr folded, int64_t count)> finish;
};

struct KernelRule {
  std::function<void(KernelBuilder&, const OpView&)> build;
  // Calls for which `is_elementwise` holds may be computed element by element as well.
  std::optional<ElementwiseRule> elementwise = std::nullopt;
  std::function<bool(const OpView&)> is_elementwise = nullptr;
  // The flat operand that result 0 is a copy of when the loops begin, -1 for none: they write what
  // differs. That operand may not be read afterwards but where nothing was written.
  std::function<int(const OpView&)> starts_as = nullptr;
  // Where each flat operand lies in result 0, which lies as given: for calls that put operands side
  // by side, each as it is. An operand may then be written there at once. No elements: it is left
  // out.
  std::function<std::vector<Layout>(const OpView&, const Layout& result)> parts = nullptr;
  // Memory of the kernel's own: results after those of the call, with nothing in them.
  struct Scratch {
    DType dtype;
    std::vector<int64_t> shape;
  };
  std::function<std::vector<Scratch>(const OpView&)> scratch = nullptr;
};

// The layout of result k as a view of operand 0's storage, or nullopt where only a copy will do.
struct ViewRule {
  std::function<std::optional<Layout>(const OpView&, const Layout& in, int k)> layout;
};

struct DecompositionRule {};

// The host program's code for one call. Operands and results are row-major and dense; one call does
// the whole operator, on one thread. `operands` has one pointer for each flat operand (null: none).
// Either `c_text` defines `void symbol(void* const* operands, void* const* results)`, with c_text
// free of headers, or `call` is given. It must not keep the pointers, and writes every element.
struct CustomOpCode {
  std::string c_text;
  std::string symbol;
  std::function<void(void* const* operands, void* const* results)> call;
};
// Sizes and attributes are those of the OpView: they are no arguments of the code.
struct ForeignRule {
  std::function<Result<CustomOpCode>(const OpView&)> code;
};

// Operand 0, a bool, chooses the attribute `then` or `otherwise`, which takes the list operand.
struct BranchRule {};
// The attribute `body` turns the first items of the list operand into their next values, as many as
// there are results, as long as the attribute `condition` gives true.
struct LoopRule {};

// The attribute `body`, whose placeholders stand for the items of the list operand.
struct GroupRule {};

struct LowerRule {
  std::variant<ElementwiseRule, ReductionRule, KernelRule, ViewRule, LibraryRule, DecompositionRule,
               ForeignRule, BranchRule, LoopRule, GroupRule>
      form;
  // Whether this call is replaced by its entry's decompose.
  bool decomposes(const OpView& op) const;
};

// The rule by which a call is computed element by element; null: it isn't.
const ElementwiseRule* elementwise_rule(const LowerRule& rule, const OpView& op);

// Constructors for the entries: `.lower = loop::elementwise(...)`.
using LowerPtr = std::shared_ptr<const LowerRule>;
LowerPtr elementwise(std::function<Exprs(KernelBuilder&, const OpView&, const Exprs&)> value,
                     bool in_range = false);
// One result from operand scalars in the compute type of each operand's dtype, broadcast; numbers
// come as constants of the result's compute type.
LowerPtr pointwise(std::function<Expr(const OpView&, const Exprs& x)> value);
LowerPtr reduction(ReductionRule rule);
LowerPtr kernel(std::function<void(KernelBuilder&, const OpView&)> build);
LowerPtr kernel(KernelRule rule);
LowerPtr view(std::function<std::optional<Layout>(const OpView&, const Layout&, int)> layout);
LowerPtr library(std::function<std::optional<LibraryForm>(const OpView&)> form);
LowerPtr by_decomposition();
LowerPtr foreign(ForeignRule rule);
LowerPtr branch();
LowerPtr repeat();
LowerPtr group();

}  // namespace cleave::loop
