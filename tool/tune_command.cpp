// cleave tune: measures the rates of this machine, on which fusion and recomputation depend, and of
// a graph's calls of a library that knows several ways which is the fastest.
#include "base/target_file.h"
#include "compile/stages.h"
#include "exec/executable.h"
#include "exec/measure_rates.h"
#include "op/registry.h"
#include "runtime/thread_pool.h"
#include "tool/command.h"
#include "tool/device_option.h"
#include "tool/graph_file.h"
#include "tool/joint_graph.h"
#include "tool/named_files.h"
#include "tool/static_sizes.h"
#include "tool/target_option.h"

namespace cleave::tool {
namespace {

struct Options {
  std::string graph, out;
  JointOptions joint;
  TargetOption target;
  DeviceOption device;
  int threads = 0;
  bool grad = false, json = false;
};

Json to_json(const Target& target) {
  const MachineRates& r = target.rates;
  Json answers = Json::object();
  for (const auto& [call, answer] : target.answers) answers[call] = answer;
  return {{"target", target.text()},
          {"product_gflops", r.product_gflops},
          {"half_product_gflops", r.half_product_gflops},
          {"pointwise_gflops", r.pointwise_gflops},
          {"memory_gigabytes", r.memory_gigabytes},
          {"cache_gigabytes", r.cache_gigabytes},
          {"call_ns", r.call_ns},
          {"cache_bytes", r.cache_bytes},
          {"answers", answers}};
}

// The target with answers for the library calls of the graph.
Result<Target> tuned(const Options& o, const Target& target, const OpRegistry& ops,
                     const std::shared_ptr<Executor>& executor) {
  CLEAVE_TRY(Program p, read_program(o.graph, ops));
  CLEAVE_CHECK(bind_sizes(p.main, o.joint));
  StageOptions options;
  options.target = target;
  options.executor = executor;
  CLEAVE_CHECK(o.joint.choice.check());
  o.joint.choice.apply(options);
  CLEAVE_TRY(options.autocast, o.joint.autocast.dtype());
  options.grad = o.grad;
  CLEAVE_CHECK(o.device.apply(p.main, ops, options));
  CLEAVE_CHECK(check_device_runs(options));
  CLEAVE_CHECK(run_stages(Stage::autocast, Stage::grad, p.main, ops, options));
  CLEAVE_TRY(const Graph graph, graph_at_hints(p.main));
  CLEAVE_TRY(const auto program, CompiledProgram::compile(graph, ops, options));
  CLEAVE_TRY(const auto instance, Instance::make(program, executor));
  return instance->tuned_target();
}

Status run(const Options& o) {
  CLEAVE_CHECK(
      check_files({{"GRAPH", o.graph}}, {{"-o", o.out}}, o.json ? Stdout::json : Stdout::free));
  CLEAVE_TRY(Target target, o.target.runnable());
  CLEAVE_TRY(const OpRegistry ops, core_ops());
  CLEAVE_TRY(const auto executor, runtime::start_threads(o.threads));
  if (o.graph.empty()) {
    CLEAVE_TRY(target.rates, measure_rates(ops, target, executor));
  } else {
    CLEAVE_TRY(target, tuned(o, target, ops, executor));
  }
  if (!o.out.empty()) CLEAVE_CHECK(write_text(o.out, print_target_file(target)));
  if (o.json) return print_json(to_json(target));
  if (o.out.empty()) fmt::print("{}", print_target_file(target));
  return {};
}

}  // namespace

Command tune_command() {
  return {"tune", "measure what work costs on this machine, for --target",
          "  cleave tune -o this.target\n  cleave train --text book.txt --target this.target\n"
          "  cleave tune gpt.clv --grad --autocast bf16 --device cuda:0 -o gpu.target",
          [](OptionList& options) {
            auto o = std::make_shared<Options>();
            options.optional("GRAPH", o->graph,
                             "instead of rates, which of a library's ways is the fastest for each "
                             "of its products; - is stdin");
            options.flag("--grad", o->grad, "of its forward and backward");
            o->joint.add_to(options);
            o->device.add_to(options);
            options.option("-o", o->out, "where the target file goes; - is stdout (default)");
            o->target.add_to(options);
            options.option("--threads", o->threads, "of the measured programs; 0: all cores");
            options.flag("--json", o->json, "one JSON object: the rates");
            return [o] { return run(*o); };
          }};
}

}  // namespace cleave::tool
