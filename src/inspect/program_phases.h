// Which calls of a program come after its forward: those of the backward and of the optimizer.
#pragma once
#include <vector>

#include "ir/graph.h"

namespace cleave {

// forward: inference, or a forward alone; joint: a tangent or gradients; step: a training step,
// which updates parameters from a loss, its first result.
enum class ProgramKind : uint8_t { forward, joint, step };
ProgramKind kind_of(const Graph& g);

// By node. joint: it depends on a tangent, or comes after the first call that does; step: it is
// behind the last call that the first result depends on; forward: none.
std::vector<bool> late_calls(const Graph& g);

}  // namespace cleave
