// cleave diff A B: what differs between two programs, from which stage of the compilation on, and
// what it costs.
#include <numeric>

#include "compile/option_text.h"
#include "compile/stages.h"
#include "inspect/stage_difference.h"
#include "op/registry.h"
#include "runtime/thread_pool.h"
#include "tool/command.h"
#include "tool/graph_file.h"
#include "tool/grouped.h"
#include "tool/kernel_times.h"
#include "tool/named_files.h"
#include "tool/static_sizes.h"
#include "tool/target_option.h"

namespace cleave::tool {
namespace {

struct Options {
  std::string a, b, a_with, b_with;
  std::vector<std::string> sizes;
  TargetOption target;
  int threads = 0, repeat = 10;
  bool grad = false, json = false;
};

// One of the two programs.
struct Side {
  int64_t calls = 0;  // of the graph that is compiled
  StageRecord record;
  double run_ms = 0;
};

Result<Side> side_of(const std::string& path, const std::string& with, const Options& o,
                     const OpRegistry& ops) {
  Result<TrainOptions> given = parse_options(with, OptionOwner::compile);
  if (!given.ok()) return std::move(given).failure();
  StageOptions options{given->compile};
  CLEAVE_TRY(Program p, read_program(path, ops));
  CLEAVE_TRY(Graph graph, sized_graph(std::move(p.main), {}, o.sizes));
  if (with.find("target") == std::string::npos) { CLEAVE_TRY(options.target, o.target.target()); }
  CLEAVE_TRY(options.executor, runtime::start_threads(o.threads));
  options.grad = o.grad;
  CLEAVE_CHECK(run_stages(Stage::autocast, Stage::grad, graph, ops, options));
  Side out;
  out.calls = std::ssize(graph.order());
  CLEAVE_TRY(out.record, record_stages(graph, ops, options));
  if (o.repeat == 0) return out;
  CLEAVE_TRY(const KernelTimes times, time_kernels(graph, ops, options, o.repeat));
  for (const TimedKernel& k : times.kernels) out.run_ms += k.us / 1e3;
  return out;
}

Json to_json(const Side& s, bool is_timed) {
  const Report& r = s.record.report;
  Json out = {{"calls", s.calls},
              {"kernels", r.kernels},
              {"moved_bytes", r.moved_bytes},
              {"planned_peak_bytes", r.planned_peak_bytes},
              {"compile_ms", r.compile_ms},
              {"run_ms", Json()}};
  if (is_timed) out["run_ms"] = s.run_ms;
  return out;
}

Json to_json(const StageDifference& d, const Side& a, const Side& b, bool is_timed) {
  return {{"same", d.stage.empty()},
          {"stage", d.stage},
          {"line", d.line},
          {"line_a", d.a},
          {"line_b", d.b},
          {"same_from", d.same_from},
          {"a", to_json(a, is_timed)},
          {"b", to_json(b, is_timed)}};
}

void print_number(const char* what, int64_t a, int64_t b) {
  const std::string change = a == b   ? ""
                             : a == 0 ? "new"
                                      : fmt::format("{:+.1f}%", 100.0 * double(b - a) / double(a));
  fmt::print("{:<20}{:>18}{:>18}{:>10}\n", what, grouped(a), grouped(b), change);
}

void print_text(const StageDifference& d, const Side& a, const Side& b, bool is_timed) {
  if (d.stage.empty())
    fmt::print("the same in every stage\n");
  else
    fmt::print("they differ from stage {} on{}; there first in line {}:\n  A: {}\n  B: {}\n",
               d.stage,
               d.same_from.empty() ? "" : ", and are the same again from " + d.same_from + " on",
               d.line, d.a, d.b);
  const Report &x = a.record.report, &y = b.record.report;
  fmt::print("{:<20}{:>18}{:>18}\n", "", "A", "B");
  print_number("calls", a.calls, b.calls);
  print_number("kernels", x.kernels, y.kernels);
  print_number("moved bytes", x.moved_bytes, y.moved_bytes);
  print_number("planned peak bytes", x.planned_peak_bytes, y.planned_peak_bytes);
  fmt::print("{:<20}{:>18.1f}{:>18.1f}\n", "compile ms", x.compile_ms, y.compile_ms);
  if (is_timed) fmt::print("{:<20}{:>18.4g}{:>18.4g}\n", "run ms", a.run_ms, b.run_ms);
}

Status run(const Options& o) {
  if (o.repeat < 0 || o.repeat > 1'000'000)
    return user_error("--repeat {}: expected 0 to 1000000", o.repeat);
  if (o.threads < 0 || o.threads > 1024)
    return user_error("--threads {}: expected 0 to 1024", o.threads);
  CLEAVE_CHECK(check_files({{"A", o.a}, {"B", o.b}}, {}, Stdout::free));
  if (o.repeat > 0) CLEAVE_CHECK(o.target.runnable());
  CLEAVE_TRY(const OpRegistry ops, core_ops());
  Result<Side> a = side_of(o.a, o.a_with, o, ops);
  if (!a.ok()) return std::move(a).failure().within("A");
  Result<Side> b = side_of(o.b, o.b_with, o, ops);
  if (!b.ok()) return std::move(b).failure().within("B");
  const StageDifference d = stage_difference(a->record, b->record);
  if (o.json) return print_json(to_json(d, *a, *b, o.repeat > 0));
  print_text(d, *a, *b, o.repeat > 0);
  return {};
}

}  // namespace

Command diff_command() {
  return {
      "diff", "where the compilations of two programs differ, and what it costs",
      "  cleave diff before.clv after.clv\n"
      "  cleave diff model.clv model.clv --b strict=true",
      [](OptionList& options) {
        auto o = std::make_shared<Options>();
        options.required("A", o->a, "a graph");
        options.required("B", o->b, "a graph, maybe the same");
        options.option("--a", o->a_with, "options that A is compiled with, as in doc/options.md");
        options.option("--b", o->b_with, "those of B");
        options.flag("--grad", o->grad, "of their forward and backward");
        options.option("--size", o->sizes, size_help);
        options.option("--repeat", o->repeat, "runs with made-up inputs that are timed; 0: none");
        o->target.add_to(options);
        options.option("--threads", o->threads, "of those runs; 0: all cores");
        options.flag("--json", o->json,
                     "one JSON object: same, stage, line, line_a, line_b, same_from, a, b");
        return [o] { return run(*o); };
      }};
}

}  // namespace cleave::tool
