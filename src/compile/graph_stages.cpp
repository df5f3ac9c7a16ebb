#include "compile/graph_stages.h"

#include "compile/pytorch_program.h"
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
#include "pass/freeze/frozen_values.h"
#include "pass/pass_setting.h"
#include "pass/passes.h"
#include "pass/pipeline.h"
#include "remat/rematerialize.h"

namespace cleave {
namespace {

using Staged = Result<StagedGraph>;

Staged unchanged(Graph graph) { return StagedGraph{std::move(graph)}; }

Staged pass_stage(Graph graph, const OpRegistry& ops, PassStage stage,
                  const CompileOptions& options) {
  CLEAVE_TRY(std::vector<CompilePass> passes, run_stage(stage, graph, ops, options));
  return StagedGraph{.graph = std::move(graph), .passes = std::move(passes)};
}

// Passes that run unless the graph is partitioned already.
template <PassStage stage>
Staged uncut_passes(Graph graph, const StageInputs& in) {
  return in.options.is_cut ? unchanged(std::move(graph))
                           : pass_stage(std::move(graph), in.ops, stage, in.options);
}

// Whether the stages after `partition` get a partitioned graph, which repeats calls on purpose.
bool is_partitioned(const StageOptions& options) {
  return options.is_cut || options.partition.has_value();
}

Staged partition_stage(Graph graph, const StageOptions& options) {
  if (options.memory_budget.given())
    return user_error(
        "partition and memory_budget: expected one of them; PyTorch's budget is a fraction: "
        "partition=pytorch,budget:0.5");
  CLEAVE_TRY(Graph program,
             pytorch_program(std::move(graph), options.forward_results, *options.partition));
  return StagedGraph{.graph = std::move(program), .is_another = true};
}

// merge_equal would undo what was repeated.
Staged decomposed_passes(Graph graph, const StageInputs& in) {
  CompileOptions options = in.options;
  if (is_partitioned(in.options)) options.passes_off.emplace_back("merge_equal");
  return pass_stage(std::move(graph), in.ops, PassStage::decomposed, options);
}

Staged autocast_stage(Graph graph, const OpRegistry& ops, DType dtype) {
  CLEAVE_CHECK(autocast(graph, ops, dtype));
  return unchanged(std::move(graph));
}

Staged grad_stage(const Graph& graph, const OpRegistry& ops) {
  CLEAVE_TRY(Graph joint, make_joint(graph, ops));
  return StagedGraph{.graph = std::move(joint), .is_another = true};
}

Staged verify_stage(Graph graph, const StageInputs& in) {
  const Device device = in.options.device;
  CLEAVE_CHECK(verify(graph));
  CLEAVE_CHECK(check_devices(graph, device));
  if (!device.is_cpu() && in.backend->device() != device)
    return unsupported("{}: no backend for it is built in", device.text());
  if (!device.is_cpu() && in.backend->target().is_deterministic != in.options.deterministic)
    return user_error("deterministic: {}, but the backend that is given was made for {}",
                      in.options.deterministic, !in.options.deterministic);
  return unchanged(std::move(graph));
}

// What depends on no placeholder.
Staged constants_stage(Graph graph, const StageInputs& in) {
  CompileOptions own = in.options;
  std::erase_if(own.passes_on, [](const std::string& text) {
    return pass_name_in(text) != compute_once().name;  // the others are those of frozen programs
  });
  CLEAVE_TRY(StagedGraph out, pass_stage(std::move(graph), in.ops, PassStage::freeze, own));
  CLEAVE_TRY(out.frozen, take_constants(out.graph));
  return out;
}

// What depends on Variables too.
Staged freeze_stage(Graph graph, const StageInputs& in) {
  CompileOptions own = in.options;
  own.passes_off.push_back(compute_once().name);  // fold_frozen does it
  CLEAVE_TRY(StagedGraph out, pass_stage(std::move(graph), in.ops, PassStage::freeze, own));
  CLEAVE_TRY(out.frozen, take_frozen(out.graph));
  return out;
}

Staged decompose_stage(Graph graph, const StageInputs& in) {
  const bool on_gpu = in.backend && in.backend->target().cuda_arch != 0;
  CLEAVE_CHECK(decompose_for_lowering(graph, in.ops, on_gpu));
  return unchanged(std::move(graph));
}

Staged copies_stage(Graph graph) {
  drop_copies(graph);
  return unchanged(std::move(graph));
}

Staged dead_code_stage(Graph graph) {
  eliminate_dead_code(graph);
  return unchanged(std::move(graph));
}

Staged tags_stage(Graph graph, size_t forward_results) {
  CLEAVE_CHECK(honor_tags(graph, forward_results));
  return unchanged(std::move(graph));
}

// With a budget the result is a fused graph.
Staged remat_stage(Graph graph, const std::shared_ptr<ProgramPlanner>& planner,
                   const RematRequest& request) {
  CLEAVE_TRY(const Rematerialized done, rematerialize(graph, planner, request));
  return StagedGraph{.graph = std::move(graph),
                     .is_another = request.budget.given(),
                     .recompute_ns = done.recompute_ns,
                     .arena_room = done.arena_room};
}

Staged fuse_stage(Graph graph, const OpRegistry& ops, const FuseCosts& costs) {
  CLEAVE_CHECK(fuse_calls(graph, ops, costs));
  return unchanged(std::move(graph));
}

}  // namespace

const std::vector<GraphStage>& graph_stages() {
  using In = const StageInputs&;
  static const std::vector<GraphStage> all = {
      {Stage::autocast,
       [](Graph g, In in) {
         return in.options.autocast ? autocast_stage(std::move(g), in.ops, *in.options.autocast)
                                    : unchanged(std::move(g));
       }},
      {Stage::pre_grad, uncut_passes<PassStage::pre_grad>},
      {Stage::grad,
       [](Graph g, In in) {
         return in.options.grad && !g.is_joint() ? grad_stage(g, in.ops) : unchanged(std::move(g));
       }},
      {Stage::verify, [](Graph g, In in) { return verify_stage(std::move(g), in); }},
      {Stage::joint,
       [](Graph g, In in) {
         return in.options.is_frozen_part ? unchanged(std::move(g))
                                          : uncut_passes<PassStage::joint>(std::move(g), in);
       }},
      {Stage::freeze,
       [](Graph g, In in) {
         const StageOptions& o = in.options;
         if (o.is_frozen_part) return unchanged(std::move(g));
         if (o.freeze) return freeze_stage(std::move(g), in);
         return o.is_cut ? unchanged(std::move(g)) : constants_stage(std::move(g), in);
       }},
      {Stage::post_grad, uncut_passes<PassStage::post_grad>},
      {Stage::partition,
       [](Graph g, In in) {
         const StageOptions& o = in.options;
         return o.partition && !o.is_cut ? partition_stage(std::move(g), o)
                                         : unchanged(std::move(g));
       }},
      {Stage::decompose, [](Graph g, In in) { return decompose_stage(std::move(g), in); }},
      {Stage::copies, [](Graph g, In) { return copies_stage(std::move(g)); }},
      {Stage::decomposed, decomposed_passes},
      {Stage::dead_code, [](Graph g, In) { return dead_code_stage(std::move(g)); }},
      {Stage::tags,
       [](Graph g, In in) {
         return is_partitioned(in.options) ? unchanged(std::move(g))
                                           : tags_stage(std::move(g), in.options.forward_results);
       }},
      {Stage::remat,
       [](Graph g, In in) {
         const StageOptions& o = in.options;
         if (is_partitioned(o)) return unchanged(std::move(g));
         const auto planner = std::make_shared<StagePlanner>(in.ops, in.backend, o.fuse, o.device);
         return remat_stage(std::move(g), planner,
                            {o.memory_budget, o.forward_results, o.family, o.offload});
       }},
      {Stage::fuse,
       [](Graph g, In in) {
         const StageOptions& o = in.options;
         return o.fuse && !o.memory_budget.given()
                    ? fuse_stage(std::move(g), in.ops, in.backend->fuse_costs())
                    : unchanged(std::move(g));
       }},
  };
  return all;
}

}  // namespace cleave
