#include "tool/joint_graph.h"

#include "compile/stages.h"
#include "tool/static_sizes.h"

namespace cleave::tool {

Status bind_sizes(Graph& g, const JointOptions& options) {
  if (options.sizes.empty()) return {};
  CLEAVE_TRY(g, sized_graph(std::move(g), {}, options.sizes));
  return {};
}

Status make_joint_graph(Graph& g, const OpRegistry& ops, const JointOptions& options) {
  CLEAVE_CHECK(options.choice.check());
  CLEAVE_CHECK(bind_sizes(g, options));
  if (g.is_joint()) return options.autocast.apply(g, ops);
  StageOptions compile;
  CLEAVE_TRY(compile.autocast, options.autocast.dtype());
  options.choice.apply(compile);
  compile.grad = true;
  return run_stages(Stage::autocast, Stage::grad, g, ops, compile);
}

}  // namespace cleave::tool
