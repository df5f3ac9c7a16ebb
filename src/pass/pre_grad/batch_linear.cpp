// Merges independent matrix products of one shape into a batched one.
//
//   mm(a, v), mm(b, w), ...              ->  unbind(bmm(stack([a, b, ...]), stack([v, w, ...])))
//   addmm(c[n], a, v), addmm(...), ...   ->  unbind(baddbmm(stack of c as [1,n], ...))     batch.h
//
// addmm with factors, or with a term of two dims, is left alone. A batched product may add in
// another order, so results are rounded differently. Runs only on request, as in PyTorch: all
// operands are copied.
#include "pass/passes.h"
#include "pass/pre_grad/batch.h"

namespace cleave {
namespace {

std::string key(const OpView& call) {
  if (call.name() == "mm") return "mm" + type_key(call, 0) + type_key(call, 1);
  if (call.name() != "addmm" || call.in_type(0).rank() != 1) return "";
  if (call.float_attr("beta") != 1 || call.float_attr("alpha") != 1) return "";
  return "addmm" + type_key(call, 0) + type_key(call, 1) + type_key(call, 2);
}

Values build(Builder& b, const std::vector<OpView>& calls) {
  if (calls[0].name() == "mm") {
    const ValueId left = stacked(b, calls, 0), right = stacked(b, calls, 1);
    return unstacked(b, b.bmm(left, right));
  }
  const ValueId bias = b.unsqueeze(stacked(b, calls, 0), 1);
  const ValueId left = stacked(b, calls, 1), right = stacked(b, calls, 2);
  return unstacked(b, b.call1("baddbmm", {bias, left, right}));
}

}  // namespace

BatchKind linear_kind() { return {.key = key, .build = build}; }

Pass batch_linear() {
  return batch_pass("batch_linear", "independent matrix products of one shape become a batched one",
                    linear_kind(), true);
}

}  // namespace cleave
