// A joint graph with what PyTorch's partitioner computes again: the program of mode pytorch.
//
// Passes run before the cut, as in every other mode (and as PyTorch's own joint passes do). They
// round otherwise than the graph says, and match what has no other reader: after the cut, where
// calls stand twice, they would find less, and results would depend on the mode. So the cut is one
// of the graph that the passes leave.
#pragma once
#include "cut/pytorch_partition.h"
#include "pass/pass.h"

namespace cleave {

// Compiled with StageOptions::is_cut, which runs no such passes again. Errors: those of passes
// and of pytorch_partition.
Result<Graph> pytorch_program(Graph joint, const OpRegistry& ops, const CompileOptions& compile,
                              const PytorchOptions& options);

}  // namespace cleave
