#include "compile/forward_passes.h"

#include <algorithm>

#include "pass/autocast.h"
#include "pass/pipeline.h"

namespace cleave {

PassOptions pass_options(const Options& options) {
  PassOptions passes{.strict = options.strict,
                     .off = options.passes_off,
                     .on = options.passes_on,
                     .rules = options.rules};
  passes.none = std::erase(passes.off, "all") > 0;
  return passes;
}

Result<std::vector<PassReport>> rewrite_forward(Graph& graph, const OpRegistry& ops,
                                                const Options& options) {
  if (options.autocast) CLEAVE_CHECK(autocast(graph, ops, *options.autocast));
  return run_stage(PassStage::pre_grad, graph, ops, pass_options(options));
}

}  // namespace cleave
