// cleave compile G.clv --dump DIR: compiles a graph, and writes each stage to a file.
#include "compile/stages.h"
#include "exec/executable.h"
#include "op/registry.h"
#include "remat/parse_budget.h"
#include "runtime/thread_pool.h"
#include "tool/autocast_option.h"
#include "tool/cache_option.h"
#include "tool/command.h"
#include "tool/graph_file.h"
#include "tool/named_files.h"
#include "tool/pass_choice.h"
#include "tool/static_sizes.h"
#include "tool/target_option.h"

namespace cleave::tool {
namespace {

struct Options {
  std::string graph, dump, in, budget;
  std::vector<std::string> sizes;
  AutocastOption autocast;
  CacheOption cache;
  TargetOption target;
  PassChoice choice;
  int threads = 0;
  bool json = false;
};

// The stages that the command ran itself, followed by those of the program.
Report joined(Report front, Report program) {
  program.compile_ms += front.compile_ms;
  program.stages.insert(program.stages.begin(), front.stages.begin(), front.stages.end());
  program.passes.insert(program.passes.begin(), front.passes.begin(), front.passes.end());
  return program;
}

Json to_json(const Report& r, const StageOptions& options) {
  Json stages = Json::array();
  for (const CompileStage& s : r.stages)
    stages.push_back({{"name", s.name}, {"ms", s.ms}, {"nodes", s.nodes}});
  Json passes = Json::array();
  for (const CompilePass& p : r.passes)
    passes.push_back({{"name", p.name}, {"matches", p.matches}});
  Json warnings = Json::array();
  for (const Warning& w : r.warnings) warnings.push_back({{"code", w.code}, {"text", w.text}});
  return {{"stages", stages},
          {"passes", passes},
          {"warnings", warnings},
          {"cache", r.cache},
          {"reason", r.cache_reason},
          {"cache_dir", options.cache_dir},
          {"compile_ms", r.compile_ms},
          {"kernels", r.kernels},
          {"distinct_kernels", r.distinct_kernels},
          {"planned_peak_bytes", r.planned_peak_bytes},
          {"target", options.target.text()}};
}

Status run(const Options& o) {
  if (o.threads < 0 || o.threads > 1024)
    return user_error("--threads {}: expected 0 to 1024", o.threads);
  CLEAVE_CHECK(o.choice.check());
  CLEAVE_CHECK(check_files({{"GRAPH", o.graph}, {"--in", o.in}}, {}, Stdout::free));
  CLEAVE_TRY(OpRegistry ops, core_ops());
  CLEAVE_TRY(Program p, read_program(o.graph, ops));
  std::map<std::string, Array> given;
  if (!o.in.empty()) { CLEAVE_TRY(given, read_tensors(o.in)); }
  CLEAVE_TRY(Graph graph, sized_graph(std::move(p.main), given, o.sizes));
  StageOptions options;
  CLEAVE_TRY(options.autocast, o.autocast.dtype());
  CLEAVE_TRY(options.target, o.target.target());
  CLEAVE_TRY(options.executor, runtime::start_threads(o.threads));
  options.dump_dir = o.dump;
  o.choice.apply(options);
  CLEAVE_CHECK(o.cache.apply(options));
  if (!o.budget.empty()) { CLEAVE_TRY(options.memory_budget, parse_budget(o.budget)); }
  Report front;
  CLEAVE_CHECK(run_stages(Stage::autocast, Stage::pre_grad, graph, ops, options, &front));
  CLEAVE_TRY(const auto program, CompiledProgram::compile(graph, ops, options));
  const Report report = joined(std::move(front), program->report());
  if (o.json) return print_json(to_json(report, options));
  fmt::print("{:<24}{:>12}{:>10}\n", "stage", "ms", "nodes");
  for (const CompileStage& s : report.stages)
    fmt::print("{:<24}{:>12.3f}{:>10}\n", s.name, s.ms, s.nodes);
  fmt::print("compiled in {:.1f} ms; {} kernels, {} of them distinct; planned peak {} B\n",
             report.compile_ms, report.kernels, report.distinct_kernels, report.planned_peak_bytes);
  fmt::print("cache: {}{}{}\n", report.cache, report.cache_reason.empty() ? "" : ": ",
             report.cache_reason);
  return {};
}

}  // namespace

Command compile_command() {
  return {"compile", "compile a graph, with every stage as a file",
          "  cleave compile model.clv --dump stages\n"
          "  cleave compile dynamic.clv --size s0=8,s1=128 --json",
          [](OptionList& options) {
            auto o = std::make_shared<Options>();
            options.required("GRAPH", o->graph, "a forward or a joint graph");
            o->autocast.add_to(options);
            options.option("--dump", o->dump,
                           "a folder for each stage that changes something: NN_STAGE.clv the "
                           "graph, NN_lower.loops its kernels, NN_schedule.loops with how their "
                           "loops run, NN_unit_K.c their C text");
            options.option("--size", o->sizes, size_help);
            options.option("--in", o->in, "tensors whose shapes give the symints (.safetensors)");
            options.option("--budget", o->budget,
                           "of the peak: 64MiB, or 60% of that without a budget");
            o->choice.add_all_to(options);
            o->target.add_to(options);
            o->cache.add_to(options);
            options.option("--threads", o->threads, "that compile; 0: one a core");
            options.flag("--json", o->json, "print one JSON object: stages, compile_ms, kernels");
            return [o] { return run(*o); };
          }};
}

}  // namespace cleave::tool
