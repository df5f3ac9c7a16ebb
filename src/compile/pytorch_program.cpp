#include "compile/pytorch_program.h"

#include "cut/join_forward_backward.h"
#include "pass/pipeline.h"

namespace cleave {

Result<Graph> pytorch_program(Graph joint, const OpRegistry& ops, const CompileOptions& compile,
                              const PytorchOptions& options) {
  for (const PassStage stage : {PassStage::joint, PassStage::post_grad})
    if (const auto reports = run_stage(stage, joint, ops, compile); !reports.ok())
      return Failure(reports.failure());
  CLEAVE_CHECK(simplify_as_pytorch(joint));
  CLEAVE_TRY(const Partition cut, pytorch_partition(joint, options));
  return join_forward_backward(joint, cut);
}

}  // namespace cleave
