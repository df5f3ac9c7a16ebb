// cleave tune: measures the rates of this machine, on which fusion and recomputation depend.
#include "base/target_file.h"
#include "exec/measure_rates.h"
#include "op/registry.h"
#include "runtime/thread_pool.h"
#include "tool/command.h"
#include "tool/graph_file.h"
#include "tool/named_files.h"
#include "tool/target_option.h"

namespace cleave::tool {
namespace {

struct Options {
  std::string out;
  TargetOption target;
  int threads = 0;
  bool json = false;
};

Json to_json(const Target& target) {
  const MachineRates& r = target.rates;
  return {{"target", target.text()},
          {"product_gflops", r.product_gflops},
          {"pointwise_gflops", r.pointwise_gflops},
          {"memory_gigabytes", r.memory_gigabytes},
          {"cache_gigabytes", r.cache_gigabytes},
          {"call_ns", r.call_ns},
          {"cache_bytes", r.cache_bytes}};
}

Status run(const Options& o) {
  CLEAVE_CHECK(check_files({}, {{"-o", o.out}}, o.json ? Stdout::json : Stdout::free));
  CLEAVE_TRY(Target target, o.target.runnable());
  CLEAVE_TRY(const OpRegistry ops, core_ops());
  CLEAVE_TRY(const auto executor, runtime::start_threads(o.threads));
  CLEAVE_TRY(target.rates, measure_rates(ops, target, executor));
  if (!o.out.empty()) CLEAVE_CHECK(write_text(o.out, print_target_file(target)));
  if (o.json) return print_json(to_json(target));
  if (o.out.empty()) fmt::print("{}", print_target_file(target));
  return {};
}

}  // namespace

Command tune_command() {
  return {"tune", "measure what work costs on this machine, for --target",
          "  cleave tune -o this.target\n  cleave train --text book.txt --target this.target",
          [](OptionList& options) {
            auto o = std::make_shared<Options>();
            options.option("-o", o->out, "where the target file goes; - is stdout (default)");
            o->target.add_to(options);
            options.option("--threads", o->threads, "of the measured programs; 0: all cores");
            options.flag("--json", o->json, "one JSON object: the rates");
            return [o] { return run(*o); };
          }};
}

}  // namespace cleave::tool
