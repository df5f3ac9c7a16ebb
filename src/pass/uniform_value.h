// Values that hold one number everywhere, as far as a graph's constants tell.
//
//   constructors    full, zeros, ones, *_like, fill, ...     their number
//   views, copies   view, expand, slice, split, flip, ...    that of the operand
//   joins           cat, stack, constant_pad_nd              where all parts have the same
//   arithmetic      add, mul, where, eq, _to_copy, ...       as the operator's reference says
//   reductions      sum, mean, amax, amin, any, all          where every way to sum is exact
//   mul by 0        of integers, whatever the other operand
//
// Numbers are those that a kernel computes to the bit: f32 arithmetic rounds once, which float64
// rounded to f32 does too; bf16 and f16 are computed in f32 and rounded. exp and its kin, which
// kernels approximate, aren't among them. x * 0 of floats may be NaN.
#pragma once
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace cleave {

class UniformValues {
 public:
  // One walk over the graph: linear in its calls.
  explicit UniformValues(const Graph& graph);

  // The number, a double, an integer or a bool as the dtype of v is; null where there is none.
  const AttrValue* find(ValueId v) const;

 private:
  void visit(NodeId n);
  std::optional<AttrValue> result_of(const OpView& call) const;
  std::optional<AttrValue> joined(const OpView& call) const;
  std::optional<AttrValue> reduced(const OpView& call) const;
  std::optional<AttrValue> computed(const OpView& call) const;
  bool is_zero_product(const OpView& call) const;

  const Graph& graph_;
  std::vector<std::optional<AttrValue>> numbers_;  // by value
};

}  // namespace cleave
