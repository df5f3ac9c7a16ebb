// The program of CompileOptions::partition: what PyTorch's partitioner says runs again in it.
//
//   a joint graph    is cut in halves, which become one graph again (cut/join_forward_backward.h)
//   a training step  has no tangents; what runs again is copied into it (repeat_as_pytorch)
//
// The passes of joint and post_grad run before, as in every other mode (and as PyTorch's own joint
// passes do). Some of them change rounding, and some match only values with a single reader: after
// the partition, which repeats calls, they would match less, and results would depend on the mode.
#pragma once
#include "cut/pytorch_partition.h"

namespace cleave {

// `forward_results`: as in StageOptions. A graph without a backward isn't changed. Errors: those of
// pytorch_partition.
Result<Graph> pytorch_program(Graph graph, size_t forward_results, const PytorchOptions& options);

}  // namespace cleave
