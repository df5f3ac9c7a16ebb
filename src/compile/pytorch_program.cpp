#include "compile/pytorch_program.h"

#include "cut/join_forward_backward.h"

namespace cleave {

Result<Graph> pytorch_program(Graph graph, size_t forward_results, const PytorchOptions& options) {
  simplify_as_pytorch(graph);
  if (!graph.is_joint()) {
    CLEAVE_CHECK(repeat_as_pytorch(graph, forward_results, options));
    return graph;
  }
  CLEAVE_TRY(const Partition cut, pytorch_partition(graph, options));
  return join_forward_backward(graph, cut);
}

}  // namespace cleave
