#include "compile/stages.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "backend/make_backend.h"
#include "cache/disk_cache.h"
#include "compile/code_stages.h"
#include "compile/graph_stages.h"
#include "compile/stage_runner.h"
#include "compile/target_warnings.h"
#include "ir/result_strides.h"
#include "ir/text.h"
#include "lower/traffic.h"

namespace cleave {
namespace {

constexpr std::array<std::string_view, 20> names = {  // in the order of Stage
    "autocast", "pre_grad",   "grad",      "verify", "joint",       "post_grad", "decompose",
    "copies",   "decomposed", "dead_code", "tags",   "remat",       "fuse",      "lower",
    "products", "in_place",   "schedule",  "emit",   "plan_memory", "build"};
static_assert(names.size() == static_cast<size_t>(Stage::build) + 1);

// Runs a stage and verifies its result.
Status run_one(const GraphStage& stage, Graph& graph, const StageInputs& in,
               const ResultStrides& strides, Report& report, StageRunner& runner) {
  const int64_t edits = graph.edits();
  CLEAVE_TRY(StagedGraph out, stage.run(std::move(graph), in));
  graph = std::move(out.graph);
  if (out.is_another) runner.made_another_graph();
  for (CompilePass& pass : out.passes) {
    if (pass.matches > 0) report.counters["passes"] += pass.matches;
    report.passes.push_back(std::move(pass));
  }
  report.recompute_ns += out.recompute_ns;
  if (!out.is_another && graph.edits() == edits) return {};
  // A joint graph returns gradients too, so the strides of the forward results don't apply to it.
  if (stage.stage > Stage::grad) CLEAVE_CHECK(strides.restore(graph, in.ops));
  if (Status s = verify_edited(graph, out.is_another ? -1 : edits); !s.ok())
    return bug("stage {} made a wrong graph: {}", name_of(stage.stage), s.failure().message);
  return {};
}

Status run_part(Stage first, Stage last, Graph& graph, const StageInputs& in, Report& report,
                StageRunner& runner) {
  std::optional<ResultStrides> strides(graph);
  for (const GraphStage& stage : graph_stages()) {
    if (stage.stage < first || stage.stage > last) continue;
    if (stage.stage == Stage::verify) strides.emplace(graph);
    CLEAVE_CHECK(runner(stage.stage, graph,
                        [&] { return run_one(stage, graph, in, *strides, report, runner); }));
  }
  return {};
}

// The stages from lower to build.
Result<BuiltProgram> make_code(const Graph& graph, const std::shared_ptr<Backend>& backend,
                               Executor& executor, StageRunner& run) {
  CLEAVE_TRY(LoweredProgram lowered, run(Stage::lower, graph, [&] { return lower(graph); }));
  CLEAVE_TRY(LoweredProgram linked, run(Stage::products, lowered, [&] {
               return link_library(std::move(lowered), *backend);
             }));
  CLEAVE_TRY(LoweredProgram laid,
             run(Stage::in_place, linked, [&] { return lay_in_place(std::move(linked)); }));
  CLEAVE_TRY(ScheduledProgram scheduled, run(Stage::schedule, laid, [&] {
               return schedule_kernels(std::move(laid), *backend);
             }));
  CLEAVE_TRY(EmittedProgram emitted, run(Stage::emit, scheduled, [&] {
               return emit_kernels(std::move(scheduled), *backend);
             }));
  CLEAVE_TRY(PlacedProgram placed,
             run(Stage::plan_memory, emitted, [&] { return place_storages(std::move(emitted)); }));
  return run(Stage::build, placed,
             [&] { return build_code(std::move(placed.planned), placed.code, backend, executor); });
}

}  // namespace

std::string_view name_of(Stage stage) { return names[static_cast<size_t>(stage)]; }

Status run_stages(Stage first, Stage last, Graph& graph, const OpRegistry& ops,
                  const StageOptions& options, Report* report) {
  if (last > Stage::fuse) return bug("stages: {} is no stage of the graph", name_of(last));
  Report unread;
  Report& told = report == nullptr ? unread : *report;
  StageRunner runner(options, graph, told);
  CLEAVE_CHECK(runner.begin());
  const StageInputs in{ops, options, make_backend(options.target, options.compiler)};
  return run_part(first, last, graph, in, told, runner);
}

Report joined(Report front, Report rest) {
  const auto prepend = [](auto& to, const auto& items) {
    to.insert(to.begin(), items.begin(), items.end());
  };
  rest.compile_ms += front.compile_ms;
  prepend(rest.stages, front.stages);
  prepend(rest.passes, front.passes);
  prepend(rest.warnings, front.warnings);
  for (const auto& [name, count] : front.counters) rest.counters[name] += count;
  return rest;
}

namespace {

// Null where there is none, or none that can be used.
std::shared_ptr<cache::DiskCache> open_cache(const StageOptions& options, Report& report) {
  if (options.cache_dir.empty()) return nullptr;
  Result<std::unique_ptr<cache::DiskCache>> cache =
      cache::DiskCache::open(options.cache_dir, options.cache_bytes);
  if (cache.ok()) return *std::move(cache);
  report.cache = "bypass";
  report.cache_reason = cache.failure().message;
  return nullptr;
}

}  // namespace

Result<BuiltProgram> build_program(Graph& graph, const OpRegistry& ops, const StageOptions& options,
                                   Report& report) {
  StageRunner runner(options, graph, report, Dump(options.dump_dir));
  CLEAVE_CHECK(runner.begin());
  const std::shared_ptr<cache::DiskCache> cache = open_cache(options, report);
  const CompilerChoice compiler = found_compiler(options.compiler);
  const StageInputs in{ops, options, make_backend(options.target, compiler, cache)};
  CLEAVE_CHECK(run_part(Stage::verify, Stage::fuse, graph, in, report, runner));
  CLEAVE_TRY(BuiltProgram built, make_code(graph, in.backend, *options.executor, runner));
  if (built.code.cached_units > 0) report.counters["cache"] = built.code.cached_units;
  if (cache) {
    report.cache = built.code.compiled_units == 0 ? "hit" : "miss";
    report.cache_reason.clear();
  }
  const LoweredProgram& lowered = built.lowered();
  report.kernels = std::ranges::count_if(
      lowered.thunks, [](const Thunk& s) { return !std::holds_alternative<JumpCall>(s.work); });
  report.distinct_kernels = static_cast<int64_t>(lowered.kernels.size());
  report.arena_bytes = built.planned.arena_bytes;
  report.placeholder_bytes = built.planned.bound.placeholders;
  report.planned_peak_bytes = built.planned.peak_bytes();
  report.moved_bytes = total_bytes(traffic_of(lowered));
  if (compiler != options.compiler && !lowered.kernels.empty())
    report.warnings.push_back(no_compiler_warning());
  std::ranges::move(target_warnings(lowered, options.target), std::back_inserter(report.warnings));
  if (graph.is_joint() || options.forward_results > 0) report.direction = "training";
  return built;
}

}  // namespace cleave
