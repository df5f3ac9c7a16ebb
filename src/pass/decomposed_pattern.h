// Recognizes calls around a product, for passes that match spelled-out operators: views of a batch,
// multiplications by numbers, tensors filled with one number.
#pragma once
#include <optional>

#include "ir/graph.h"

namespace cleave {

// The size of a dim counted from the end, where 1 is the last; 1 if the dim doesn't exist.
Dim dim_from_end(const Type& t, int64_t k);

class DecomposedPattern {
 public:
  explicit DecomposedPattern(const Graph& g) : g_(g) {}

  NodeId def(ValueId v) const { return v.valid() ? g_.value(v).def : NodeId{}; }
  bool is_call(ValueId v, std::initializer_list<std::string_view> ops) const;

  // The operand of a view that keeps the last two dims and repeats nothing. Not of detach, which
  // stops the gradient.
  std::optional<ValueId> below_view(ValueId v) const;

  // For mul or div by a finite nonzero number: the tensor, and the factor.
  struct Scaled {
    ValueId value;
    double by;
  };
  std::optional<Scaled> below_scale(ValueId v) const;

  // The operand of a conversion between f32, bf16 and f16.
  std::optional<ValueId> below_convert(ValueId v) const;

  // The number that operand k is: given as a number, or a tensor filled with it.
  std::optional<double> number_of(const OpView& op, int k) const;

 protected:
  const Graph& g_;

 private:
  std::optional<double> filled(ValueId v) const;
};

}  // namespace cleave
