#include "pass/stands_for.h"

#include <algorithm>

namespace cleave {

bool has_same_type(const Graph& graph, ValueId a, ValueId b) {
  const Type &s = graph.type(a), &t = graph.type(b);
  return s.dtype == t.dtype && s.is_none == t.is_none && s.device == t.device &&
         std::ranges::equal(s.shape, t.shape, [&](const Dim& x, const Dim& y) {
           return graph.env().provably_equal(x, y);
         });
}

bool may_stand_for(const Graph& graph, ValueId value, ValueId old) {
  if (!has_same_type(graph, value, old)) return false;
  const auto is_returned = [&](ValueId v) {
    return std::ranges::find(graph.returns(), v, &Return::value) != graph.returns().end();
  };
  return !is_returned(old) || (graph.value(value).def.valid() && !is_returned(value));
}

}  // namespace cleave
