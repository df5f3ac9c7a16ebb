// Values that are held in the order of memory, while turn_folds rewrites what computes them.
//
//   %v f32[2,6,2,20]   held as   %v.turned f32[2,20,6,2]       statistics f32[2,6,1,1] as [2,1,6,1]
#pragma once
#include <string>
#include <unordered_map>

#include "ir/builder.h"
#include "pass/decomposed/memory_order.h"

namespace cleave {

class OrderedValues {
 public:
  OrderedValues(Builder& b, const DimOrder& order) : b_(b), order_(order) {}

  // An operand in the order: the value that holds it, or a view. Numbers and scalars stay.
  ValueId turned(ValueId v);

  // Replaces result v of a call by `made`, seen with its own dims. Returns what replaces it.
  ValueId put(ValueId v, ValueId made);

 private:
  ValueId dense_in_memory(ValueId v) const;

  Builder& b_;
  const DimOrder& order_;
  std::unordered_map<uint32_t, ValueId> turned_;
};

}  // namespace cleave
