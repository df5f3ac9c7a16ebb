#include "op/advanced_index.h"

#include <algorithm>

#include "op/broadcast.h"
#include "op/dims.h"
#include "op/index_rules.h"

namespace cleave {

AdvancedIndex plan_index(const OpView& op, int64_t self_rank, int64_t broadcast_rank) {
  AdvancedIndex plan;
  plan.broadcast_rank = broadcast_rank;
  plan.tensor_of.assign(static_cast<size_t>(self_rank), -1);
  int64_t begin = self_rank, end = 0, count = 0;
  for (int k = 0; k < op.list_size(); ++k) {
    if (!op.list_has(k)) continue;
    plan.tensor_of[k] = k;
    begin = std::min<int64_t>(begin, k);
    end = k + 1;
    ++count;
  }
  plan.first = end - begin == count ? begin : 0;
  int64_t next = 0;
  for (int k : plan.tensor_of) {
    if (next == plan.first) next += broadcast_rank;
    plan.result_of.push_back(k < 0 ? next++ : -1);
  }
  return plan;
}

Result<Type> indexed_type(const OpView& op) {
  const Type& self = op.in_type(0);
  if (op.list_size() > self.rank())
    return op.broken("C1", "{} indices are given for self: {}, expected at most {}", op.list_size(),
                     self.text(), self.rank());
  std::optional<Shape> broadcast;
  for (int k = 0; k < op.list_size(); ++k) {
    if (!op.list_has(k)) continue;
    const Type& index = op.list_type(k);
    if (index.dtype == DType::boolean || index.dtype == DType::u8)
      return unsupported(
          "{}: indices[{}] is {}: a mask picks a number of elements that only its values tell, "
          "expected i64 or i32 (src/op/index.cpp)",
          op.name(), k, index.text());
    CLEAVE_CHECK(check_index_dtype(op, "C2", fmt::format("indices[{}]", k), index));
    if (!broadcast) {
      broadcast = index.shape;
    } else {
      CLEAVE_TRY(broadcast, broadcast_shapes(op, "C3", *broadcast, index.shape));
    }
    if (index.device != self.device && !index.device.is_cpu())
      return op.broken("C4", "self is {} and indices[{}] is {}, expected one device", self.text(),
                       k, index.text());
  }
  if (!broadcast) return op.broken("C1", "no index is given, expected at least one");
  const AdvancedIndex plan = plan_index(op, self.rank(), std::ssize(*broadcast));
  Shape shape;
  for (int64_t d = 0; d < self.rank(); ++d)
    if (plan.tensor_of[d] < 0) shape.push_back(self.shape[d]);
  shape.insert(shape.begin() + plan.first, broadcast->begin(), broadcast->end());
  return typed_like(self, self.dtype, std::move(shape));
}

}  // namespace cleave
