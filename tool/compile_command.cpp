// cleave compile G.clv --dump DIR: compiles a graph, and writes each stage to a file.
#include "compile/stages.h"
#include "exec/executable.h"
#include "exec/notices.h"
#include "op/registry.h"
#include "remat/parse_budget.h"
#include "runtime/thread_pool.h"
#include "tool/autocast_option.h"
#include "tool/cache_option.h"
#include "tool/command.h"
#include "tool/device_option.h"
#include "tool/graph_file.h"
#include "tool/named_files.h"
#include "tool/options_text.h"
#include "tool/pass_choice.h"
#include "tool/static_sizes.h"
#include "tool/target_option.h"

namespace cleave::tool {
namespace {

struct Options {
  std::string graph, dump, in, budget, repro;
  std::vector<std::string> sizes;
  AutocastOption autocast;
  CacheOption cache;
  TargetOption target;
  DeviceOption device;
  PassChoice choice;
  OptionsText library;
  int threads = 0;
  bool json = false;
};

Json to_json(const Report& r, const StageOptions& options) {
  Json stages = Json::array();
  for (const CompileStage& s : r.stages)
    stages.push_back({{"name", s.name},
                      {"ms", s.ms},
                      {"nodes", s.nodes},
                      {"edits", s.edits},
                      {"inferred", s.inferred},
                      {"grown_bytes", s.grown_bytes}});
  Json passes = Json::array();
  for (const CompilePass& p : r.passes)
    passes.push_back({{"name", p.name}, {"matches", p.matches}});
  Json warnings = Json::array();
  for (const Warning& w : r.warnings) warnings.push_back({{"code", w.code}, {"text", w.text}});
  Json counters = Json::object();
  for (const auto& [name, count] : r.counters) counters[name] = count;
  return {{"stages", stages},
          {"passes", passes},
          {"warnings", warnings},
          {"direction", r.direction},
          {"counters", counters},
          {"graph_id", r.graph_id},
          {"cache", r.cache},
          {"reason", r.cache_reason},
          {"cache_dir", options.cache_dir},
          {"compile_ms", r.compile_ms},
          {"kernels", r.kernels},
          {"distinct_kernels", r.distinct_kernels},
          {"planned_peak_bytes", r.planned_peak_bytes},
          {"moved_bytes", r.moved_bytes},
          {"target", planning_backend(options)->target().text()},
          {"device", options.device.text()}};
}

Status run(const Options& o) {
  if (o.threads < 0 || o.threads > 1024)
    return user_error("--threads {}: expected 0 to 1024", o.threads);
  CLEAVE_CHECK(o.choice.check());
  CLEAVE_CHECK(check_files({{"GRAPH", o.graph}, {"--in", o.in}}, {}, Stdout::free));
  CLEAVE_TRY(OpRegistry ops, core_ops());
  CLEAVE_TRY(Model model, read_model(o.graph, ops));
  Program p = std::move(model.program);
  CLEAVE_TRY(const auto given, read_inputs(o.in, std::move(model.weights)));
  CLEAVE_TRY(Graph graph, sized_graph(std::move(p.main), given, o.sizes));
  CLEAVE_TRY(const CompileOptions library, o.library.read());
  StageOptions options{library};
  if (!o.autocast.text.empty()) { CLEAVE_TRY(options.autocast, o.autocast.dtype()); }
  if (o.target.is_given()) { CLEAVE_TRY(options.target, o.target.target()); }
  if (o.threads > 0) options.threads = o.threads;
  CLEAVE_TRY(options.executor, runtime::start_threads(options.threads));
  if (!o.dump.empty()) options.dump_dir = o.dump;
  if (!o.repro.empty()) options.repro = o.repro;
  o.choice.apply(options);
  if (!o.cache.text.empty() || options.cache_dir.empty()) CLEAVE_CHECK(o.cache.apply(options));
  if (!o.budget.empty()) { CLEAVE_TRY(options.memory_budget, parse_budget(o.budget)); }
  CLEAVE_CHECK(o.device.apply(graph, ops, options));
  Report front;
  CLEAVE_CHECK(run_stages(Stage::autocast, Stage::pre_grad, graph, ops, options, &front));
  CLEAVE_TRY(const auto program, CompiledProgram::compile(graph, ops, options));
  const Report report = joined(std::move(front), program->report());
  Notices().warn(report.warnings);
  if (o.json) return print_json(to_json(report, options));
  fmt::print("{:<24}{:>12}{:>10}{:>10}{:>10}{:>14}\n", "stage", "ms", "nodes", "edits", "inferred",
             "grown bytes");
  for (const CompileStage& s : report.stages)
    fmt::print("{:<24}{:>12.3f}{:>10}{:>10}{:>10}{:>14}\n", s.name, s.ms, s.nodes, s.edits,
               s.inferred, s.grown_bytes);
  fmt::print(
      "compiled in {:.1f} ms; {} kernels, {} of them distinct; planned peak {} B; a run moves "
      "{} B\n",
      report.compile_ms, report.kernels, report.distinct_kernels, report.planned_peak_bytes,
      report.moved_bytes);
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
            o->device.add_to(options);
            o->cache.add_to(options);
            o->library.add_to(options);
            options.option("--repro", o->repro, repro_help);
            options.option("--threads", o->threads, "that compile; 0: one a core");
            options.flag("--json", o->json, "print one JSON object: stages, passes, warnings, ...");
            return [o] { return run(*o); };
          }};
}

}  // namespace cleave::tool
