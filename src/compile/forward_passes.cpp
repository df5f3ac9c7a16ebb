#include "compile/forward_passes.h"

#include <algorithm>

#include "pass/autocast.h"
#include "pass/pipeline.h"

namespace cleave {

PassOptions pass_options(const Options& options) {
  PassOptions passes{.strict = options.strict, .off = options.passes_off, .rules = options.rules};
  passes.none = std::erase(passes.off, "all") > 0;
  return passes;
}

Status rewrite_forward(Graph& graph, const OpRegistry& ops, const Options& options) {
  if (options.autocast) CLEAVE_CHECK(autocast(graph, ops, *options.autocast));
  const auto reports = run_stage(PassStage::pre_grad, graph, ops, pass_options(options));
  return reports.ok() ? Status() : Status(reports.failure());
}

}  // namespace cleave
