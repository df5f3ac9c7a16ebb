#include "compile/stages.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "backend/make_backend.h"
#include "cache/memory_cache.h"
#include "compile/code_stages.h"
#include "compile/frozen_report.h"
#include "compile/graph_stages.h"
#include "compile/program_cache.h"
#include "compile/repro.h"
#include "compile/stage_runner.h"
#include "compile/target_warnings.h"
#include "ir/result_strides.h"
#include "ir/text.h"
#include "lower/offload.h"
#include "lower/traffic.h"

namespace cleave {
namespace {

constexpr std::array<std::string_view, 22> names = {  // in the order of Stage
    "autocast",  "pre_grad",  "grad",        "verify", "joint",      "freeze",
    "post_grad", "partition", "decompose",   "copies", "decomposed", "dead_code",
    "tags",      "remat",     "fuse",        "lower",  "products",   "in_place",
    "schedule",  "emit",      "plan_memory", "build"};
static_assert(names.size() == static_cast<size_t>(Stage::build) + 1);

// What stages leave beside the graph.
struct Aside {
  Graph frozen = Graph("frozen");          // what the stage freeze takes out
  std::optional<int64_t> arena_room = {};  // that remat has left to offloading
};

// Runs a stage and verifies its result.
Status run_one(const GraphStage& stage, Graph& graph, const StageInputs& in,
               const ResultStrides& strides, Report& report, StageRunner& runner, Aside* aside) {
  const int64_t edits = graph.edits();
  CLEAVE_TRY(StagedGraph out, stage.run(std::move(graph), in));
  graph = std::move(out.graph);
  if (out.is_another) runner.made_another_graph();
  std::ranges::move(out.passes, std::back_inserter(report.passes));
  report.recompute_ns += out.recompute_ns;
  if (out.frozen && aside != nullptr) aside->frozen = *std::move(out.frozen);
  if (out.arena_room && aside != nullptr) aside->arena_room = out.arena_room;
  if (!out.is_another && graph.edits() == edits) return {};
  // A joint graph returns gradients too, so the strides of the forward results don't apply to it.
  if (stage.stage > Stage::grad) CLEAVE_CHECK(strides.restore(graph, in.ops));
  if (Status s = verify_edited(graph, out.is_another ? -1 : edits); !s.ok())
    return bug("stage {} made a wrong graph: {}", name_of(stage.stage), s.failure().message);
  return {};
}

Status run_part(Stage first, Stage last, Graph& graph, const StageInputs& in, Report& report,
                StageRunner& runner, Aside* aside = nullptr) {
  std::optional<ResultStrides> strides(graph);
  for (const GraphStage& stage : graph_stages()) {
    if (stage.stage < first || stage.stage > last) continue;
    if (stage.stage == Stage::verify) strides.emplace(graph);
    CLEAVE_CHECK(runner(stage.stage, graph, [&] {
      return run_one(stage, graph, in, *strides, report, runner, aside);
    }));
  }
  return {};
}

// The stages from lower to in_place.
Result<LoweredProgram> make_kernels(const Graph& graph, std::optional<int64_t> arena_room,
                                    Backend& backend, StageRunner& run) {
  const LowerChoices choices = backend.fuse_costs().choices;
  CLEAVE_TRY(LoweredProgram lowered,
             run(Stage::lower, graph, [&] { return lower(graph, choices); }));
  CLEAVE_TRY(LoweredProgram linked, run(Stage::products, lowered,
                                        [&] { return link_library(std::move(lowered), backend); }));
  return run(Stage::in_place, linked, [&]() -> Result<LoweredProgram> {
    CLEAVE_TRY(LoweredProgram laid, lay_in_place(std::move(linked), backend));
    return arena_room ? bring_within(std::move(laid), *arena_room, backend)
                      : Result<LoweredProgram>(std::move(laid));
  });
}

// The stages from lower to plan_memory. The report gets the kernels, which end with `build`.
Result<PlacedProgram> make_code(const Graph& graph, std::optional<int64_t> arena_room,
                                Backend& backend, CodePool* pool, Report& report,
                                StageRunner& run) {
  CLEAVE_TRY(LoweredProgram laid, make_kernels(graph, arena_room, backend, run));
  CLEAVE_TRY(ScheduledProgram scheduled, run(Stage::schedule, laid, [&] {
               return schedule_kernels(std::move(laid), backend, pool);
             }));
  report.distinct_kernels = static_cast<int64_t>(scheduled.lowered.kernels.size());
  CLEAVE_TRY(EmittedProgram emitted, run(Stage::emit, scheduled, [&] {
               return emit_kernels(std::move(scheduled), backend, pool);
             }));
  return run(Stage::plan_memory, emitted, [&] { return place_storages(std::move(emitted)); });
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
  const ReproOf repro(graph, options);
  const StageInputs in{ops, options, planning_backend(options)};
  Status ran = run_part(first, last, graph, in, told, runner);
  return ran.ok() ? std::move(ran) : repro.told(std::move(ran).failure());
}

namespace {

void count_passes(const std::vector<CompilePass>& passes, Report& report) {
  for (const CompilePass& pass : passes)
    if (pass.matches > 0) report.counters["passes"] += pass.matches;
}

}  // namespace

Report joined(Report front, Report rest) {
  const auto prepend = [](auto& to, const auto& items) {
    to.insert(to.begin(), items.begin(), items.end());
  };
  rest.compile_ms += front.compile_ms;
  prepend(rest.stages, front.stages);
  prepend(rest.passes, front.passes);
  prepend(rest.warnings, front.warnings);
  for (const auto& [name, count] : front.counters) rest.counters[name] += count;
  count_passes(front.passes, rest);
  return rest;
}

namespace {

constexpr int64_t most_checked_bytes = int64_t{1} << 40;

// The stages from verify to plan_memory.
Result<WrittenProgram> write_anew(Graph& graph, const StageInputs& in, Report& report,
                                  StageRunner& run) {
  CLEAVE_CHECK(run.begin());
  WrittenProgram out;
  const bool freezes = in.options.freeze && !in.options.is_frozen_part;
  const Graph given = freezes ? graph : Graph("none");
  Aside aside;
  CLEAVE_CHECK(run_part(Stage::verify, Stage::fuse, graph, in, report, run, &aside));
  out.frozen = std::move(aside.frozen);
  report.frozen = freezes ? frozen_report(given, graph, out.frozen) : constants_report(out.frozen);
  CLEAVE_TRY(out.placed,
             make_code(graph, aside.arena_room, *in.backend, in.options.pool.get(), report, run));
  return out;
}

Result<BuiltProgram> build_anew(Graph graph, const StageInputs& in, Report& report,
                                ProgramCache& kept) {
  StageRunner run(in.options, graph, report, Dump(in.options.dump_dir));
  CLEAVE_TRY(WrittenProgram written, write_anew(graph, in, report, run));
  PlacedProgram& placed = written.placed;
  KeptCode code = kept.cache() ? KeptCode::of(placed) : KeptCode();
  CodePool* pool = in.options.pool.get();
  CLEAVE_TRY(BuiltProgram built, run(Stage::build, placed, [&] {
               return build_code(std::move(placed.planned), placed.code, in.backend, pool,
                                 *in.options.executor, kept.cache());
             }));
  if (pool) report.recompiled = pool->last_miss().empty() ? pool->last_text() : pool->last_miss();
  built.frozen = std::move(written.frozen);
  if (kept.cache()) run.apart("keep", [&] { kept.keep(graph, built, std::move(code)); });
  built.graph = std::make_shared<LoweredGraph>(std::move(graph));
  return built;
}

// Compares what was found with a program that is built now, into a store of its own.
Status check_found(const Graph& graph, const StageInputs& in, ProgramCache& found) {
  Report report;
  ProgramCache fresh(in.options, report, std::make_shared<cache::MemoryCache>(most_checked_bytes));
  fresh.find(graph, in.ops, in.backend);
  CLEAVE_CHECK(build_anew(graph, in, report, fresh));
  return found.compare(fresh);
}

// What is ahead of a graph whose stages in front of verify are done.
StageOptions from_verify(StageOptions options) {
  options.autocast.reset();
  options.grad = false;
  return options;
}

// Found in the cache, or built.
Result<BuiltProgram> find_or_build(Graph graph, const StageInputs& in, Report& report) {
  const StageOptions& options = in.options;
  ProgramCache kept(options, report);
  std::optional<BuiltProgram> built;
  if (kept.cache()) {
    StageRunner runner(options, graph, report);
    built = runner.apart("find", [&] { return kept.find(graph, in.ops, in.backend); });
  }
  if (report.graph_id.empty()) report.graph_id = program_key(graph, in.ops, options, "").id;
  if (built && options.cache_check && !options.pool) CLEAVE_CHECK(check_found(graph, in, kept));
  if (graph.is_joint() || options.forward_results > 0) report.direction = "training";
  if (!built) return build_anew(std::move(graph), in, report, kept);
  return *std::move(built);
}

}  // namespace

namespace {

std::shared_ptr<Backend> own_backend(const CompileOptions& options, CompilerChoice compiler) {
  Target target = options.target;
  target.is_deterministic = options.deterministic;
  return make_backend(target, compiler, options.device);
}

}  // namespace

std::shared_ptr<Backend> backend_for(const CompileOptions& options) {
  if (options.backend) return options.backend;
  return own_backend(options, found_compiler(options.compiler));
}

std::shared_ptr<Backend> planning_backend(const CompileOptions& options) {
  if (options.backend) return options.backend;
  return own_backend(options, options.compiler);
}

Result<std::vector<loop::Kernel>> scheduled_kernels(Graph graph, const OpRegistry& ops,
                                                    const StageOptions& options,
                                                    const std::shared_ptr<Backend>& backend) {
  Report report;
  const StageInputs in{ops, options, backend};
  StageRunner run(options, graph, report);
  Aside aside;
  CLEAVE_CHECK(run_part(Stage::verify, Stage::fuse, graph, in, report, run, &aside));
  CLEAVE_TRY(LoweredProgram laid, make_kernels(graph, aside.arena_room, *backend, run));
  return backend->schedule(laid.kernels);
}

Result<WrittenProgram> write_program(Graph graph, const OpRegistry& ops,
                                     const StageOptions& options, Report& report) {
  const StageInputs in{ops, options,
                       options.pool ? options.pool->backend() : planning_backend(options)};
  StageRunner run(options, graph, report);
  const ReproOf repro(graph, from_verify(options));
  Result<WrittenProgram> out = write_anew(graph, in, report, run);
  if (!out.ok()) return repro.told(std::move(out).failure());
  out->graph = std::move(graph);
  return out;
}

Result<BuiltProgram> build_program(Graph graph, const OpRegistry& ops, const StageOptions& options,
                                   Report& report) {
  const StageInputs in{ops, options, options.pool ? options.pool->backend() : backend_for(options)};
  const ReproOf repro(graph, from_verify(options));
  Result<BuiltProgram> built = find_or_build(std::move(graph), in, report);
  if (!built.ok()) return repro.told(std::move(built).failure());
  count_passes(report.passes, report);
  if (built->code.cached_units > 0) report.counters["cache"] = built->code.cached_units;
  const LoweredProgram& lowered = built->lowered();
  report.kernels = std::ranges::count_if(lowered.thunks, [](const Thunk& s) {
    return !std::holds_alternative<JumpCall>(s.work) &&
           !std::holds_alternative<TransferCall>(s.work);
  });
  if (const int64_t bytes = copied_out(lowered); bytes > 0)
    report.counters["offloaded_bytes"] = bytes;
  report.arena_bytes = built->planned.arena_bytes;
  report.placeholder_bytes = built->planned.bound.placeholders;
  report.planned_peak_bytes = built->planned.peak_bytes();
  report.moved_bytes = total_bytes(built->traffic);
  if (in.backend->interprets() && options.compiler != CompilerChoice::none &&
      report.distinct_kernels > 0)
    report.warnings.push_back(no_compiler_warning());
  std::ranges::move(target_warnings(lowered, options.target), std::back_inserter(report.warnings));
  return *std::move(built);
}

}  // namespace cleave
