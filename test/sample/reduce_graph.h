// Reduces a failing graph: nodes become inputs and returns are removed while it still fails.
#pragma once
#include <functional>

#include "test/sample/random_graph.h"

namespace cleave::random {

using Fails = std::function<bool(const RandomGraph&)>;

// A graph that still fails, of which no node can be replaced by an input that holds its value and
// no return left out.
RandomGraph reduced(RandomGraph r, const Fails& fails);

}  // namespace cleave::random
