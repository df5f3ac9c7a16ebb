// cleave lower G.clv: compiles of a graph what can be, and leaves the rest.
#include <chrono>
#include <set>

#include "cleave/partial.h"
#include "compile/stages.h"
#include "compilers/compilers.h"
#include "ir/strides.h"
#include "op/registry.h"
#include "runtime/thread_pool.h"
#include "tool/command.h"
#include "tool/device_option.h"
#include "tool/graph_file.h"
#include "tool/named_files.h"
#include "tool/run_inputs.h"
#include "tool/static_sizes.h"
#include "tool/trace_option.h"

namespace cleave::tool {
namespace {

struct Options {
  std::string graph, in, out, lowered, grouping = "convex", on_failure = "error";
  std::vector<std::string> refuse, sizes;
  int64_t least_calls = 10;
  int threads = 0, repeat = 1;
  DeviceOption device;
  InputOptions inputs;
  TraceOption trace;
  bool grad = false, json = false;
};

// Each run of a region is a span of its tag.
void watch_regions(PartialOptions& options, Timeline& timeline) {
  options.span = [timeline](const std::string& tag, double ms) mutable {
    const auto end = Timeline::Clock::now();
    const auto took = std::chrono::duration<double, std::milli>(ms);
    timeline.add(tag, "region", end - std::chrono::duration_cast<Timeline::Clock::duration>(took),
                 end);
  };
}

Result<PartialOptions> partial_options(Options& o, const OpRegistry& ops, Device device) {
  PartialOptions out;
  if (o.grouping != "runs" && o.grouping != "convex")
    return user_error("--grouping {}: expected runs or convex", o.grouping);
  if (o.on_failure != "error" && o.on_failure != "outside")
    return user_error("--on-failure {}: expected error or outside", o.on_failure);
  if (o.least_calls < 1) return user_error("--least-calls {}: expected at least 1", o.least_calls);
  if (o.repeat < 1) return user_error("--repeat {}: expected at least 1", o.repeat);
  if (o.threads < 0 || o.threads > 1024)
    return user_error("--threads {}: expected 0 to 1024", o.threads);
  out.grouping = o.grouping == "runs" ? Grouping::runs : Grouping::convex;
  out.on_failure = o.on_failure == "error" ? OnFailure::error : OnFailure::outside;
  out.least_calls = o.least_calls;
  CompileOptions compile{.device = device};
  CLEAVE_CHECK(check_device_runs(compile));
  out.device = device;
  CLEAVE_TRY(compile.executor, runtime::start_threads(o.threads));
  o.trace.watch(compile);
  if (Timeline* timeline = o.trace.timeline()) watch_regions(out, *timeline);
  out.backend = native(std::move(compile));
  for (const std::string& name : o.refuse)
    if (ops.find(name) == nullptr) {
      const std::string nearest = ops.nearest(name);
      return user_error("--refuse {}: there is no such operator{}", name,
                        nearest.empty() ? "" : "; the nearest is " + nearest);
    }
  if (!o.refuse.empty())
    out.node = [refused = std::set<std::string>(o.refuse.begin(), o.refuse.end())](
                   const GraphCall& call) { return !refused.contains(call.op); };
  return out;
}

Status run_program(PartialProgram& program, const Graph& g,
                   const std::map<std::string, Array>& given, const Options& o) {
  CLEAVE_TRY(const Arrays inputs, complete_inputs(g, given, o.inputs));
  HostTensors results;
  for (int r = 0; r < o.repeat; ++r) {
    HostTensors tensors;
    for (size_t k = 0; k < inputs.size(); ++k)
      tensors.push_back(tensor_of(inputs[k], g.type(g.placeholders()[k].value)));
    results = program.run(std::move(tensors));
  }
  std::map<std::string, Array> named;
  for (size_t k = 0; k < results.size(); ++k) {
    const Return& r = g.returns()[k];
    named[r.kind == ReturnKind::grad ? "grad." + g.name(r.target) : fmt::format("out.{}", k)] =
        array_of(results[k]);
  }
  return o.out.empty() ? Status() : write_tensors(o.out, named);
}

Json to_json(const PartialProgram& program, bool ran) {
  const auto ms = [&](double value) { return ran ? Json(value) : Json(); };
  Json regions = Json::array(), outside = Json::array();
  for (const LoweredRegion& r : program.regions())
    regions.push_back({{"tag", r.tag},
                       {"calls", r.calls},
                       {"compile_ms", ms(r.compile_ms)},
                       {"run_ms", ms(r.run_ms)}});
  for (const OutsideCall& c : program.outside())
    outside.push_back(
        {{"name", c.name}, {"op", c.op}, {"reason", c.reason}, {"run_ms", ms(c.run_ms)}});
  return {{"regions", std::move(regions)}, {"outside", std::move(outside)}};
}

Status lower(Options& o) {
  CLEAVE_CHECK(check_files({{"GRAPH", o.graph}, {"--in", o.in}},
                           {{"--out", o.out}, {"-o", o.lowered}, {"--trace", o.trace.path}},
                           o.json ? Stdout::json : Stdout::free));
  CLEAVE_TRY(OpRegistry ops, core_ops());
  CLEAVE_TRY(Model model, read_model(o.graph, ops));
  Program p = std::move(model.program);
  CLEAVE_TRY(const auto given, read_inputs(o.in, std::move(model.weights)));
  StageOptions stages;
  CLEAVE_CHECK(o.device.apply(p.main, ops, stages));
  CLEAVE_TRY(PartialOptions options, partial_options(o, ops, stages.device));
  const bool runs = !o.in.empty() || o.inputs.random;
  for (const auto& [option, path] :
       {std::pair("--out", &o.out), std::pair("--trace", &o.trace.path)})
    if (!path->empty() && !runs) return user_error("{}: expected --in or --random, too", option);
  if (runs || !o.sizes.empty()) {
    CLEAVE_TRY(p.main, sized_graph(std::move(p.main), given, o.sizes));
  }
  if (o.grad) {
    stages.grad = std::ranges::any_of(p.main.placeholders(), &Placeholder::wants_grad);
    CLEAVE_CHECK(run_stages(Stage::pre_grad, Stage::grad, p.main, ops, stages));
  }
  const Graph g = p.main;
  PartialProgram program = partial_lower(traced_graph(std::move(p.main), {}), options);
  if (runs) CLEAVE_CHECK(run_program(program, g, given, o));
  CLEAVE_CHECK(o.trace.write());
  if (!o.lowered.empty()) CLEAVE_CHECK(write_text(o.lowered, program.graph().text()));
  if (o.json) return print_json(to_json(program, runs));
  const bool taken =
      goes_to_stdout(o.out) || goes_to_stdout(o.lowered) || goes_to_stdout(o.trace.path);
  std::FILE* const to = taken ? stderr : stdout;
  fmt::print(to, "{}", program.coverage());
  return {};
}

}  // namespace

Command lower_command() {
  return {
      "lower", "compile what can be compiled of a graph, and leave the rest",
      "  cleave lower model.clv --refuse _softmax,mm\n"
      "  cleave lower model.clv --refuse sort --in x.safetensors --out y.safetensors --grad --json",
      [](OptionList& options) {
        auto o = std::make_shared<Options>();
        options.required("GRAPH", o->graph, graph_help);
        options.option("--refuse", o->refuse,
                       "operators that stay outside; several between commas");
        options.option("--grouping", o->grouping,
                       "runs: calls in a row; convex: the fewest regions (default)");
        options.option("--least-calls", o->least_calls, "of a region, views aside");
        options.option(
            "--on-failure", o->on_failure,
            "of a region that can't be compiled: error, or outside: it runs call by call");
        options.option("-o,--lowered", o->lowered, "where the lowered graph goes");
        options.option("--in", o->in, "inputs, under their placeholders' names (.safetensors)");
        options.option("--out", o->out,
                       "results: out.0, out.1, ..., grad.NAME (.safetensors); - is stdout");
        options.flag("--grad", o->grad, "of the joint graph, with its gradients, as cleave run");
        options.flag("--random", o->inputs.random, "make the inputs that are not given");
        options.option("--seed", o->inputs.seed, "of --random and of a missing rng state");
        o->device.add_to(options);
        options.option("--threads", o->threads, "0: one a core");
        options.option("--repeat", o->repeat, "runs from the same inputs; times are of the last");
        options.option("--size", o->sizes, size_help);
        o->trace.add_to(options);
        options.flag("--json", o->json, "print one JSON object: regions, outside");
        return [o] { return lower(*o); };
      }};
}

}  // namespace cleave::tool
