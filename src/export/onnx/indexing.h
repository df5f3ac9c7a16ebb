// Lists of index tensors as GatherND and ScatterND take them.
#pragma once
#include "export/onnx/rules.h"
#include "op/advanced_index.h"

namespace cleave::to_onnx {

struct Indexed {
  AdvancedIndex plan;
  Ints perm;             // brings the indexed dims of self to the front
  V positions;           // i64[*broadcast, indexed dims]
  Ints broadcast_first;  // brings the broadcast dims of self[indices] to the front
};

// Of operands (self, list); `picked` is the shape of self[indices].
Indexed indexed_first(Call& c, const Shape& picked);
// That shape. Precondition: no index is a mask.
Shape indexed_shape(const Call& c);

}  // namespace cleave::to_onnx
