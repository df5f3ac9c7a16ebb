#include "pass/adds_apart.h"

#include <algorithm>

namespace cleave {

bool adds_apart(const Graph& graph, ValueId sum) {
  const Type& t = graph.type(sum);
  if (t.device.kind != DeviceKind::cuda || (t.dtype != DType::f32 && t.dtype != DType::f64))
    return false;
  if (std::ranges::find(graph.returns(), sum, &Return::value) != graph.returns().end())
    return false;
  return std::ranges::all_of(graph.uses(sum), [&](const Use& use) {
    return has(graph.node(use.node).op->traits, Trait::pointwise);
  });
}

bool broadcasts_to(const Graph& graph, const Shape& shape, const Shape& to) {
  if (shape.size() > to.size()) return false;
  const size_t lead = to.size() - shape.size();
  for (size_t d = 0; d < shape.size(); ++d)
    if (!graph.env().provably_equal(shape[d], to[lead + d]) &&
        !graph.env().provably_equal(shape[d], Dim(1)))
      return false;
  return true;
}

}  // namespace cleave
