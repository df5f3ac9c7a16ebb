// A joint graph partitioned by PyTorch's partitioner: the program of mode pytorch.
//
// Passes run before the partition, as in every other mode (and as PyTorch's own joint passes do).
// Some of them change rounding, and some match only values with a single reader: after the
// partition, which repeats calls, they would match less, and results would depend on the mode.
#pragma once
#include "cut/pytorch_partition.h"
#include "pass/pass.h"

namespace cleave {

// Compile it with StageOptions::is_cut, which skips these passes. Errors: those of the passes and
// of pytorch_partition.
Result<Graph> pytorch_program(Graph joint, const OpRegistry& ops, const CompileOptions& compile,
                              const PytorchOptions& options);

}  // namespace cleave
