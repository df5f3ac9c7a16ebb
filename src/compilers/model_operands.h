// What a graph that was read from a file takes, in the order of its placeholders.
#pragma once
#include "base/result.h"
#include "cleave/weights.h"
#include "ir/graph.h"

namespace cleave {

// The weights by name, the inputs in their order, the symints that follow from all shapes, and the
// random state of `seed`. Errors (user): too few inputs or too many, one of another dtype or rank,
// shapes that contradict each other.
Result<HostTensors> model_operands(const Graph& graph, const NamedTensors& weights,
                                   const HostTensors& inputs, int64_t seed);

}  // namespace cleave
