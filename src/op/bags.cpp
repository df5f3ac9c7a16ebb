#include "op/bags.h"

namespace cleave {

ValueId bag_of_each(Builder& b, ValueId starts, const Dim& n) {
  const Shape count = b.type(starts).shape;
  const CallOperand end{AttrValue(n)};
  const ValueId below = b.where(b.lt(starts, 0), 0, starts);
  const ValueId inside = b.where(b.gt(below, end), end, below);
  const ValueId marks =
      b.call1("index_add", {b.full({n + 1}, 0, DType::i64), inside, b.full(count, 1, DType::i64)},
              {{"dim", 0}});
  return b.sub(b.slice(b.call1("cumsum", {marks}, {{"dim", 0}}), 0, 0, n), 1);
}

std::vector<int64_t> bag_of_each(const std::vector<int64_t>& starts, int64_t n) {
  std::vector<int64_t> out;
  for (int64_t k = 0; k < n; ++k) {
    int64_t bag = -1;
    for (int64_t start : starts) bag += start <= k;
    out.push_back(bag);
  }
  return out;
}

}  // namespace cleave
