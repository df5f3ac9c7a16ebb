// Computes a product transposed if it is only used transposed, so that its users read it
// contiguously.
//
//   permute(mm(a, b); dims=[1,0])      ->  mm(permute(b; dims=[1,0]), permute(a; dims=[1,0]))
//   permute(bmm(a, b); dims=[0,2,1])   ->  the same, batch by batch
//
// A product reads its operands with any strides, so the new permutes are free. Each element is the
// same sum in the same order. An example is the gradient of a weight that a linear layer stores
// transposed.
#include "pass/passes.h"

namespace cleave {
namespace {

Rule turned(const std::string& op, const std::vector<int64_t>& dims) {
  const Pattern product = call(op, {any("a"), any("b")});
  AttrValue swap = AttrList(dims.begin(), dims.end());
  return {.name = op,
          .search = {call("permute", {product}, {{"dims", swap}})},
          .build = [op, swap](Builder& b, const Match& m) -> Values {
            const ValueId left = b.call1("permute", {m["b"]}, {{"dims", swap}});
            const ValueId right = b.call1("permute", {m["a"]}, {{"dims", swap}});
            return {b.call1(op, {left, right})};
          }};
}

}  // namespace

Pass turn_products() {
  return {.name = "turn_products",
          .summary = "a product that is only read transposed is made transposed",
          .rules = {turned("mm", {1, 0}), turned("bmm", {0, 2, 1})}};
}

}  // namespace cleave
