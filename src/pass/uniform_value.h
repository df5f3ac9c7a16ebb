// Values whose elements are all one number, as far as the graph's constants show.
//
//   constructors    full, zeros, ones, *_like, fill, ...     their number
//   views, copies   view, expand, slice, split, flip, ...    that of the operand
//   joins           cat, stack, constant_pad_nd              where all parts have the same
//   arithmetic      add, mul, where, eq, _to_copy, ...       as the operator's reference computes
//   reductions      sum, mean, amax, amin, any, all          if every order of summation is exact
//   mm, bmm                                          the same, of uniform matrices
//   mul by 0        of integers, whatever the other operand
//   lt, le, gt, ge  of positions that all lie on one side (index_form.h; arange to a symbol too)
//
// The numbers are bit for bit those that a kernel computes: f32 arithmetic rounds once, as does
// float64 rounded to f32; bf16 and f16 are computed in f32 and rounded. exp and similar functions,
// which kernels approximate, are excluded. x * 0 of floats may be NaN.
#pragma once
#include <optional>
#include <unordered_map>

#include "base/layout.h"
#include "ir/graph.h"

namespace cleave {

class UniformValues {
 public:
  // Walks over the graph once: linear in its calls.
  explicit UniformValues(const Graph& graph);
  // Knows about this value, if it is computed by few calls: for what asks about one.
  UniformValues(const Graph& graph, ValueId of);

  // Returns the number as a double, integer or bool, by the dtype of v; null if v isn't uniform.
  const AttrValue* find(ValueId v) const;
  // Returns how v depends on the position of its element (index_form.h), or none.
  std::optional<Layout> form(ValueId v) const;

 private:
  void visit(NodeId n);
  void note_form(const OpView& call, int k, uint32_t v);
  std::optional<AttrValue> result_of(const OpView& call) const;
  std::optional<AttrValue> joined(const OpView& call) const;
  std::optional<AttrValue> reduced(const OpView& call) const;
  std::optional<AttrValue> product(const OpView& call) const;
  std::optional<AttrValue> computed(const OpView& call) const;
  bool is_zero_product(const OpView& call) const;
  std::optional<DimRange> range_of(const OpView& call) const;
  std::optional<DimRange> known_range(ValueId v) const;
  std::optional<DimRange> range_of_operand(const OpView& call, int operand) const;
  std::optional<AttrValue> compared(const OpView& call) const;

  const Graph& graph_;
  std::unordered_map<uint32_t, AttrValue> numbers_;  // by value
  std::unordered_map<uint32_t, Layout> forms_;       // of what isn't uniform
  std::unordered_map<uint32_t, DimRange> ranges_;    // of positions up to a symbol
};

}  // namespace cleave
