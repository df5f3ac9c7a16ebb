// The walk of passes that put one call in the place of another.
#pragma once
#include "ir/graph.h"
#include "pass/pass.h"

namespace cleave {

// made(n) gives, for each call in order, the value that takes the place and the name of its first
// result, inserted in front of it; none where the call stays. The call is erased.
template <class F>
Result<PassCount> replace_calls(Graph& g, const F& made) {
  PassCount count;
  for (const NodeId n : g.order()) {
    CLEAVE_TRY(const ValueId value, made(n));
    if (value.is_none()) continue;
    const ValueId old = g.node(n).out(0);
    const std::string name = g.name(old);
    g.replace_uses(old, value);
    g.erase(n);
    CLEAVE_CHECK(g.rename(value, name));
    ++count.matches;
    ++count.nodes;
  }
  return count;
}

}  // namespace cleave
