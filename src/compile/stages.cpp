#include "compile/stages.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <utility>

#include "base/write_file.h"
#include "compile/code_stages.h"
#include "compile/graph_stages.h"
#include "ir/result_strides.h"
#include "ir/text.h"

namespace cleave {
namespace {

constexpr std::array<std::string_view, 20> names = {  // in the order of Stage
    "autocast", "pre_grad",   "grad",      "verify",   "joint",       "post_grad", "decompose",
    "copies",   "decomposed", "dead_code", "tags",     "remat",       "fuse",      "lower",
    "in_place", "schedule",   "emit",      "products", "plan_memory", "build"};
static_assert(names.size() == static_cast<size_t>(Stage::build) + 1);

// NN_name files in the dump folder; nothing where there is none. Numbers count from verify on.
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
  Status code(Stage stage, const CodeWork& work) const {
    if (folder_.empty()) return {};
    const std::vector<loop::Kernel>& lowered = work.program.lowered.kernels;
    if (stage == Stage::lower) return kernels(stage, lowered);
    if (stage == Stage::schedule)
      return kernels(stage, work.shared.kernels.empty() ? lowered : work.shared.kernels);
    if (stage == Stage::emit)
      for (size_t i = 0; i < work.units.size(); ++i)
        CLEAVE_CHECK(write(stage, fmt::format("unit_{}.c", i), work.units[i]));
    return {};
  }

 private:
  Status kernels(Stage stage, const std::vector<loop::Kernel>& kernels) const {
    std::string text;
    for (const loop::Kernel& k : kernels) text += loop::print(k) + "\n";
    return write(stage, fmt::format("{}.loops", name_of(stage)), text);
  }
  Status write(Stage stage, const std::string& name, const std::string& text) const {
    const int number = static_cast<int>(stage) - static_cast<int>(Stage::verify);
    const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
    return write_file((folder_ / fmt::format("{:02}_{}", number, name)).string(), {&bytes, 1});
  }

  const std::filesystem::path folder_;
  std::string last_;
};

// Adds a row to the report when it goes.
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

Status run_one(const GraphStage& stage, GraphWork& work, const ResultStrides& strides) {
  const Timed timed(stage.stage, work.graph, work.report);
  const int64_t edits = work.graph.edits();
  CLEAVE_CHECK(stage.run(work));
  const bool is_other = std::exchange(work.is_other_graph, false);
  if (!is_other && work.graph.edits() == edits) return {};
  // The gradients of a graph return more than it does.
  if (stage.stage > Stage::grad) CLEAVE_CHECK(strides.restore(work.graph, work.ops));
  if (Status s = verify_edited(work.graph, is_other ? -1 : edits); !s.ok())
    return bug("stage {} made a wrong graph: {}", name_of(stage.stage), s.failure().message);
  return {};
}

Status run_part(Stage first, Stage last, GraphWork& work, Dump& dump) {
  std::optional<ResultStrides> strides(work.graph);
  for (const GraphStage& stage : graph_stages()) {
    if (stage.stage < first || stage.stage > last) continue;
    if (stage.stage == Stage::verify) strides.emplace(work.graph);
    CLEAVE_CHECK(run_one(stage, work, *strides));
    if (stage.stage >= Stage::verify) CLEAVE_CHECK(dump.graph(stage.stage, work.graph));
  }
  return {};
}

}  // namespace

std::string_view name_of(Stage stage) { return names[static_cast<size_t>(stage)]; }

Status run_stages(Stage first, Stage last, Graph& graph, const OpRegistry& ops,
                  const CompileOptions& options, Report* report) {
  if (last > Stage::fuse) return bug("stages: {} is no stage of the graph", name_of(last));
  Report unread;
  GraphWork work{graph, ops, options, report == nullptr ? unread : *report};
  Dump none{std::string()};
  return run_part(first, last, work, none);
}

Result<BuiltProgram> build_program(Graph& graph, const OpRegistry& ops,
                                   const CompileOptions& options, Report& report) {
  Dump dump(options.dump_dir);
  CLEAVE_CHECK(dump.begin());
  GraphWork on_graph{graph, ops, options, report};
  CLEAVE_CHECK(run_part(Stage::verify, Stage::fuse, on_graph, dump));
  CodeWork work{graph, options};
  for (const CodeStage& stage : code_stages()) {
    {
      const Timed timed(stage.stage, graph, report);
      CLEAVE_CHECK(stage.run(work));
    }
    CLEAVE_CHECK(dump.code(stage.stage, work));
  }
  const LoweredProgram& l = work.program.lowered;
  report.kernels = std::count_if(l.steps.begin(), l.steps.end(), [](const Step& s) {
    return !std::holds_alternative<JumpCall>(s.work);
  });
  report.distinct_kernels = static_cast<int64_t>(l.kernels.size());
  report.arena_bytes = l.arena_bytes;
  report.placeholder_bytes = l.placeholder_bytes;
  report.planned_peak_bytes = l.arena_bytes + l.placeholder_bytes;
  return std::move(work.program);
}

}  // namespace cleave
