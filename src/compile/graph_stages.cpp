#include "compile/graph_stages.h"

#include <algorithm>
#include <iterator>

#include "compile/stage_planner.h"
#include "cut/honor_tags.h"
#include "grad/grad.h"
#include "ir/edit.h"
#include "ir/text.h"
#include "lower/check_devices.h"
#include "lower/decompose.h"
#include "lower/drop_copies.h"
#include "lower/fuse.h"
#include "pass/autocast.h"
#include "pass/pipeline.h"
#include "remat/rematerialize.h"

namespace cleave {
namespace {

Status run_passes(GraphWork& w, PassStage stage, const PassOptions& options) {
  CLEAVE_TRY(std::vector<CompilePass> reports, run_stage(stage, w.graph, w.ops, options));
  std::ranges::move(reports, std::back_inserter(w.report.passes));
  return {};
}

Status run_autocast(GraphWork& w) {
  return w.options.autocast ? autocast(w.graph, w.ops, *w.options.autocast) : Status();
}

Status run_pre_grad(GraphWork& w) {
  return w.options.is_cut ? Status() : run_passes(w, PassStage::pre_grad, w.options.passes);
}

Status run_grad(GraphWork& w) {
  if (!w.options.grad || w.graph.is_joint()) return {};
  CLEAVE_TRY(w.graph, make_joint(w.graph, w.ops));
  w.is_other_graph = true;
  return {};
}

Status run_verify(GraphWork& w) {
  CLEAVE_CHECK(verify(w.graph));
  return check_devices(w.graph);
}

Status run_joint(GraphWork& w) {
  return w.options.is_cut ? Status() : run_passes(w, PassStage::joint, w.options.passes);
}

Status run_post_grad(GraphWork& w) {
  return w.options.is_cut ? Status() : run_passes(w, PassStage::post_grad, w.options.passes);
}

Status run_decompose(GraphWork& w) { return decompose_for_lowering(w.graph, w.ops); }

Status run_copies(GraphWork& w) {
  drop_copies(w.graph);
  return {};
}

// A graph that is cut already computes things twice on purpose.
Status run_decomposed(GraphWork& w) {
  PassOptions options = w.options.passes;
  if (w.options.is_cut) options.off.emplace_back("merge_equal");
  return run_passes(w, PassStage::decomposed, options);
}

Status run_dead_code(GraphWork& w) {
  eliminate_dead_code(w.graph);
  return {};
}

Status run_tags(GraphWork& w) {
  if (w.options.is_cut) return {};
  CLEAVE_CHECK(honor_tags(w.graph, w.options.forward_results));
  return {};
}

Status run_remat(GraphWork& w) {
  const CompileOptions& o = w.options;
  if (o.is_cut) return {};
  const auto planner = std::make_shared<StagePlanner>(w.ops, o);
  const RematRequest request{o.memory_budget, o.forward_results, o.family};
  CLEAVE_TRY(w.report.recompute_ns, rematerialize(w.graph, planner, request));
  w.is_other_graph = o.memory_budget.given();
  return {};
}

// What a budget has chosen is fused.
Status run_fuse(GraphWork& w) {
  return w.options.fuse && !w.options.memory_budget.given()
             ? fuse_calls(w.graph, w.ops, w.options.target.rates)
             : Status();
}

}  // namespace

const std::vector<GraphStage>& graph_stages() {
  static const std::vector<GraphStage> all = {
      {Stage::autocast, run_autocast},
      {Stage::pre_grad, run_pre_grad},
      {Stage::grad, run_grad},
      {Stage::verify, run_verify},
      {Stage::joint, run_joint},
      {Stage::post_grad, run_post_grad},
      {Stage::decompose, run_decompose},
      {Stage::copies, run_copies},
      {Stage::decomposed, run_decomposed},
      {Stage::dead_code, run_dead_code},
      {Stage::tags, run_tags},
      {Stage::remat, run_remat},
      {Stage::fuse, run_fuse},
  };
  return all;
}

}  // namespace cleave
