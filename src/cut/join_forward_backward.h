// The halves of a cut as one graph again, so that they can run as one program.
//
//   the forward's calls, then the backward's; a recomputed call is there twice
//
// Returns and placeholders are those of the joint graph, in its order. Equal calls must not be
// merged afterwards (StageOptions::is_cut).
#pragma once
#include "cut/partition.h"

namespace cleave {

// Errors (bug): the partition isn't of this joint graph.
Result<Graph> join_forward_backward(const Graph& joint, const Partition& cut);

}  // namespace cleave
