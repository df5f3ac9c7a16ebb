// Merges independent layer norms of one shape into one without weights, which are applied after it.
//
//   layer_norm(a; v, c), layer_norm(b; w, d), ...
//     ->  unbind(layer_norm(stack([a, b, ...])) * stack([v, w, ...]) + stack([c, d, ...]))  batch.h
//
// Either all or none have a weight; the same holds for biases. The product and sum become calls of
// their own, so results of bf16 and f16 are rounded differently. Mean and deviation must have no
// users: an existing gradient uses them. Runs only on request, as in PyTorch.
#include "pass/passes.h"
#include "pass/pre_grad/batch.h"

namespace cleave {
namespace {

std::string key(const OpView& call) {
  if (call.name() != "native_layer_norm") return "";
  std::string out =
      type_key(call, 0) + call.attr("normalized_shape").text() + call.attr("eps").text();
  for (const int k : {1, 2}) {
    out += " ";
    if (!call.has(k)) continue;
    if (call.in_type(k).dtype != call.in_type(0).dtype) return "";
    out += type_key(call, k);
  }
  return out;
}

// The weights or biases of all calls, as [calls, 1, ..., *normalized_shape].
ValueId spread(Builder& b, const std::vector<OpView>& calls, int k) {
  const int64_t rank = calls[0].in_type(0).rank();
  const ValueId v = stacked(b, calls, k);
  Shape shape = b.type(v).shape;
  while (std::ssize(shape) < rank + 1) shape.insert(shape.begin() + 1, Dim(1));
  return b.view(v, shape);
}

Values build(Builder& b, const std::vector<OpView>& calls) {
  const OpView& first = calls[0];
  const ValueId x = stacked(b, calls, 0);
  ValueId y =
      b.call1("native_layer_norm", {x},
              {{"normalized_shape", first.attr("normalized_shape")}, {"eps", first.attr("eps")}});
  if (first.has(1)) y = b.mul(y, spread(b, calls, 1));
  if (first.has(2)) y = b.add(y, spread(b, calls, 2));
  return unstacked(b, y);
}

}  // namespace

Pass batch_layer_norm() {
  return batch_pass("batch_layer_norm", "independent layer norms of one shape become one",
                    {.key = key, .build = build}, true);
}

}  // namespace cleave
