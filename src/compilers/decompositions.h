// Decompositions of a graph in place.
#pragma once
#include "cleave/decompositions.h"
#include "ir/graph.h"

namespace cleave {

Status decompose(const Decompositions& chosen, Graph& graph, const OpRegistry& ops);

}  // namespace cleave
