#include "tool/joint_graph.h"

#include "compile/stages.h"

namespace cleave::tool {

Status make_joint_graph(Graph& g, const OpRegistry& ops, const JointOptions& options) {
  CLEAVE_CHECK(options.choice.check());
  if (g.is_joint()) return options.autocast.apply(g, ops);
  StageOptions compile;
  CLEAVE_TRY(compile.autocast, options.autocast.dtype());
  options.choice.apply(compile);
  compile.grad = true;
  return run_stages(Stage::autocast, Stage::grad, g, ops, compile);
}

}  // namespace cleave::tool
