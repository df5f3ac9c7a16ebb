#include "compile/stages.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <utility>

#include "backend/make_backend.h"
#include "base/write_file.h"
#include "cache/disk_cache.h"
#include "compile/at_stage.h"
#include "compile/code_stages.h"
#include "compile/graph_stages.h"
#include "ir/result_strides.h"
#include "ir/text.h"

namespace cleave {
namespace {

constexpr std::array<std::string_view, 21> names = {  // in the order of Stage
    "autocast",  "pre_grad", "grad",       "verify",    "joint", "freeze",      "post_grad",
    "decompose", "copies",   "decomposed", "dead_code", "tags",  "remat",       "fuse",
    "lower",     "products", "in_place",   "schedule",  "emit",  "plan_memory", "build"};
static_assert(names.size() == static_cast<size_t>(Stage::build) + 1);

// Writes NN_name files to the dump folder, if there is one. NN counts from the stage verify on.
class Dump {
 public:
  explicit Dump(const std::string& folder) : folder_(folder) {}

  Status begin() const {
    if (folder_.empty()) return {};
    std::error_code error;
    std::filesystem::create_directories(folder_, error);
    if (error) return user_error("dump: {}: {}", folder_.string(), error.message());
    return {};
  }
  Status graph(Stage stage, const Graph& graph) {
    if (folder_.empty()) return {};
    std::string text = print(graph);
    if (text == last_) return {};
    CLEAVE_CHECK(write(stage, fmt::format("{}.clv", name_of(stage)), text));
    last_ = std::move(text);
    return {};
  }
  Status loops(Stage stage, const std::vector<loop::Kernel>& kernels) const {
    if (folder_.empty()) return {};
    std::string text;
    for (const loop::Kernel& k : kernels) text += loop::print(k) + "\n";
    return write(stage, fmt::format("{}.loops", name_of(stage)), text);
  }
  Status units(const EmittedCode& code) const {
    if (folder_.empty()) return {};
    for (size_t i = 0; i < code.units.size(); ++i)
      CLEAVE_CHECK(write(Stage::emit, fmt::format("unit_{}.{}", i, code.units[i].language),
                         code.units[i].text));
    return {};
  }

 private:
  Status write(Stage stage, const std::string& name, const std::string& text) const {
    const int number = static_cast<int>(stage) - static_cast<int>(Stage::verify);
    const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
    return write_file((folder_ / fmt::format("{:02}_{}", number, name)).string(), {&bytes, 1});
  }

  const std::filesystem::path folder_;
  std::string last_;
};

// Times a stage: the destructor adds a row to the report.
class Timed {
 public:
  Timed(Stage stage, const Graph& graph, Report& report)
      : stage_(stage), graph_(graph), report_(report) {}
  ~Timed() {
    const std::chrono::duration<double, std::milli> ms = Clock::now() - begin_;
    report_.stages.push_back({std::string(name_of(stage_)), ms.count(), graph_.node_count()});
    report_.compile_ms += ms.count();
  }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  const Stage stage_;
  const Graph& graph_;
  Report& report_;
  const Clock::time_point begin_ = Clock::now();
};

// Runs a stage and verifies its result.
Status run_one(const GraphStage& stage, Graph& graph, const StageInputs& in,
               const ResultStrides& strides, Report& report, Graph* frozen) {
  const Timed timed(stage.stage, graph, report);
  const int64_t edits = graph.edits();
  CLEAVE_TRY(StagedGraph out, stage.run(std::move(graph), in));
  graph = std::move(out.graph);
  std::ranges::move(out.passes, std::back_inserter(report.passes));
  report.recompute_ns += out.recompute_ns;
  if (out.frozen && frozen != nullptr) *frozen = *std::move(out.frozen);
  if (!out.is_another && graph.edits() == edits) return {};
  // A joint graph returns gradients too, so the strides of the forward results don't apply to it.
  if (stage.stage > Stage::grad) CLEAVE_CHECK(strides.restore(graph, in.ops));
  if (Status s = verify_edited(graph, out.is_another ? -1 : edits); !s.ok())
    return bug("stage {} made a wrong graph: {}", name_of(stage.stage), s.failure().message);
  return {};
}

// `frozen`, if it isn't null, gets what the stage freeze takes out.
Status run_part(Stage first, Stage last, Graph& graph, const StageInputs& in, Report& report,
                Dump& dump, Graph* frozen = nullptr) {
  std::optional<ResultStrides> strides(graph);
  for (const GraphStage& stage : graph_stages()) {
    if (stage.stage < first || stage.stage > last) continue;
    if (stage.stage == Stage::verify) strides.emplace(graph);
    CLEAVE_CHECK(
        at_stage(stage.stage, [&] { return run_one(stage, graph, in, *strides, report, frozen); }));
    if (stage.stage >= Stage::verify) CLEAVE_CHECK(dump.graph(stage.stage, graph));
  }
  return {};
}

// The stages from lower to build.
Result<BuiltProgram> make_code(const Graph& graph, const std::shared_ptr<Backend>& backend,
                               Executor& executor, Report& report, const Dump& dump) {
  const auto timed = [&](Stage stage, auto run) {
    const Timed clock(stage, graph, report);
    return at_stage(stage, run);
  };
  CLEAVE_TRY(LoweredProgram lowered, timed(Stage::lower, [&] { return lower(graph); }));
  CLEAVE_CHECK(dump.loops(Stage::lower, lowered.kernels));
  CLEAVE_TRY(LoweredProgram linked,
             timed(Stage::products, [&] { return link_library(std::move(lowered), *backend); }));
  CLEAVE_TRY(LoweredProgram laid,
             timed(Stage::in_place, [&] { return lay_in_place(std::move(linked)); }));
  CLEAVE_TRY(ScheduledProgram scheduled,
             timed(Stage::schedule, [&] { return schedule_kernels(std::move(laid), *backend); }));
  const auto& functions = scheduled.functions.kernels;
  CLEAVE_CHECK(
      dump.loops(Stage::schedule, functions.empty() ? scheduled.lowered.kernels : functions));
  CLEAVE_TRY(EmittedProgram emitted,
             timed(Stage::emit, [&] { return emit_kernels(std::move(scheduled), *backend); }));
  CLEAVE_CHECK(dump.units(emitted.code));
  CLEAVE_TRY(PlacedProgram placed,
             timed(Stage::plan_memory, [&] { return place_storages(std::move(emitted)); }));
  return timed(Stage::build, [&] { return build_code(std::move(placed), backend, executor); });
}

}  // namespace

std::string_view name_of(Stage stage) { return names[static_cast<size_t>(stage)]; }

Status run_stages(Stage first, Stage last, Graph& graph, const OpRegistry& ops,
                  const StageOptions& options, Report* report) {
  if (last > Stage::fuse) return bug("stages: {} is no stage of the graph", name_of(last));
  Report unread;
  Dump none{std::string()};
  const StageInputs in{ops, options, make_backend(options.target, options.compiler)};
  return run_part(first, last, graph, in, report == nullptr ? unread : *report, none);
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
  Dump dump(options.dump_dir);
  CLEAVE_CHECK(dump.begin());
  const std::shared_ptr<cache::DiskCache> cache = open_cache(options, report);
  const StageInputs in{ops, options, make_backend(options.target, options.compiler, cache)};
  Graph frozen("frozen");
  CLEAVE_CHECK(run_part(Stage::verify, Stage::fuse, graph, in, report, dump, &frozen));
  CLEAVE_TRY(BuiltProgram built, make_code(graph, in.backend, *options.executor, report, dump));
  built.frozen = std::move(frozen);
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
  return built;
}

}  // namespace cleave
