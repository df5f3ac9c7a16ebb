// cleave run G.clv: runs a graph with the compiled or the reference engine.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>

#include "base/alignment.h"
#include "compile/option_value.h"
#include "compile/repro.h"
#include "compile/stages.h"
#include "exec/executable.h"
#include "exec/notices.h"
#include "interp/array_memory.h"
#include "interp/interpret.h"
#include "interp/moved_oracle.h"
#include "ir/strides.h"
#include "op/registry.h"
#include "remat/parse_budget.h"
#include "runtime/alloc_watch.h"
#include "runtime/thread_pool.h"
#include "tool/autocast_option.h"
#include "tool/cache_option.h"
#include "tool/command.h"
#include "tool/device_inputs.h"
#include "tool/device_option.h"
#include "tool/graph_file.h"
#include "tool/named_files.h"
#include "tool/options_text.h"
#include "tool/pass_choice.h"
#include "tool/pytorch_rules.h"
#include "tool/run_inputs.h"
#include "tool/static_sizes.h"
#include "tool/target_option.h"
#include "tool/trace_option.h"

namespace cleave::tool {
namespace {

struct Options {
  std::string graph, in, out, engine = "compiled", budget, mode = "exact", fuse = "on", compiler,
                              dump, repro;
  std::vector<std::string> sizes;
  int threads = 0, repeat = 1;
  AutocastOption autocast;
  CacheOption cache;
  TargetOption target;
  DeviceOption device;
  PytorchRules rules;
  PassChoice choice;
  OptionsText library;
  InputOptions inputs;
  TraceOption trace;
  bool grad = false, json = false, profile = false, compare = false;
};

struct RunReport {
  double compile_ms = 0, run_ms = 0;
  int64_t kernels = 0, peak_bytes = 0, planned_peak_bytes = 0;
  GraphCounts graphs;
};

using Clock = std::chrono::steady_clock;
double ms_since(Clock::time_point t) {
  return std::chrono::duration<double, std::milli>(Clock::now() - t).count();
}
double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v.empty() ? 0 : v[v.size() / 2];
}

Status check_options(const Options& o) {
  if (o.engine != "compiled" && o.engine != "reference")
    return user_error("--engine {}: expected compiled or reference", o.engine);
  if (o.repeat < 1) return user_error("--repeat {}: expected at least 1", o.repeat);
  if (o.threads < 0 || o.threads > 1024)
    return user_error("--threads {}: expected 0 to 1024", o.threads);
  CLEAVE_CHECK(o.choice.check());
  if (o.fuse != "on" && o.fuse != "off") return user_error("--fuse {}: expected on or off", o.fuse);
  CompilerChoice compiler{};
  if (!o.compiler.empty() && !read_value(o.compiler, compiler).ok())
    return user_error("--compiler {}: expected {}", o.compiler, kind_of(&compiler));
  if (o.mode != "exact" && o.mode != "default" && o.mode != "pytorch")
    return user_error("--mode {}: expected exact, default or pytorch", o.mode);
  if (o.mode == "default" && !o.budget.empty())
    return user_error("--budget: mode default recomputes nothing and takes none");
  CLEAVE_CHECK(o.rules.check(o.mode));
  if (o.engine == "reference" && o.mode == "pytorch")
    return user_error("--mode pytorch: of the compiled engine alone");
  if (o.engine == "reference" && !o.trace.path.empty())
    return user_error("--trace: of the compiled engine alone");
  if (o.engine == "reference" && !o.budget.empty())
    return user_error("--budget: of the compiled engine alone");
  if (o.engine == "reference" && o.compare)
    return user_error("--compare: of the compiled engine, with the reference engine");
  return {};
}

// Those of --options, with those of the command before them.
Result<StageOptions> stage_options(const Options& o) {
  CLEAVE_TRY(const CompileOptions library, o.library.read());
  StageOptions options{library};
  if (options.freeze)
    return user_error("--options freeze: what is frozen is computed by compile() of the library");
  if (o.target.is_given()) { CLEAVE_TRY(options.target, o.target.target()); }
  CLEAVE_CHECK(check_runs_here(options.target));
  if (o.threads > 0) options.threads = o.threads;
  if (!o.cache.text.empty() || options.cache_dir.empty()) CLEAVE_CHECK(o.cache.apply(options));
  if (!o.dump.empty()) options.dump_dir = o.dump;
  if (!o.repro.empty()) options.repro = o.repro;
  if (!o.compiler.empty()) CLEAVE_CHECK(read_value(o.compiler, options.compiler));
  if (!o.autocast.text.empty()) { CLEAVE_TRY(options.autocast, o.autocast.dtype()); }
  options.fuse = o.fuse != "off";
  o.choice.apply(options);
  if (o.mode == "pytorch") {
    CLEAVE_TRY(options.partition, o.rules.options(o.budget));
  } else if (!o.budget.empty()) {
    CLEAVE_TRY(options.memory_budget, parse_budget(o.budget));
  }
  return options;
}

// Memory of a placeholder, aligned to 64 bytes: a cache line.
struct AlignedMemory {
  static Result<AlignedMemory> make(const std::string& name, const Type& t) {
    AlignedMemory m;
    m.bytes = memory_bytes(t);
    m.data.reset(static_cast<std::byte*>(
        std::aligned_alloc(64, static_cast<size_t>(m.bytes + 64) / 64 * 64)));
    if (!m.data)
      return user_error("%{}: {} lies over {} bytes, which can't be had from the system", name,
                        t.text(), m.bytes);
    return m;
  }
  int64_t bytes = 0;
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::unique_ptr<std::byte, Free> data;
};

// Prints the time of each step, the mean of all runs, longest first.
void print_profile(std::vector<StepTime> steps, int runs, bool is_device) {
  if (is_device)
    fmt::print(stderr,
               "between two events on the device's queue, each step alone: a time has 15 to 20 us "
               "of starting it\n");
  std::stable_sort(steps.begin(), steps.end(),
                   [](const auto& a, const auto& b) { return a.ns > b.ns; });
  double total = 0;
  for (const StepTime& s : steps) total += static_cast<double>(s.ns);
  for (const StepTime& s : steps)
    fmt::print(stderr, "{:>12.3f} us {:>6.2f}%  {:<8} %{}\n",
               static_cast<double>(s.ns) / runs / 1e3,
               total > 0 ? 100 * static_cast<double>(s.ns) / total : 0, s.kind, s.name);
}

Result<Arrays> run_compiled(const Graph& g, const OpRegistry& ops, const Arrays& inputs,
                            StageOptions options, const Options& o, RunReport& report) {
  options.autocast = {};  // it is done
  options.grad = false;
  CLEAVE_TRY(auto program, CompiledProgram::compile(g, ops, options));
  Notices().warn(program->report().warnings);
  report.compile_ms = program->report().compile_ms;
  report.kernels = program->report().kernels;
  report.planned_peak_bytes = program->report().planned_peak_bytes;
  CLEAVE_TRY(auto instance, Instance::make(program, options.executor));
  std::vector<AlignedMemory> memory;
  DeviceInputs there;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ValueId v = g.placeholders()[i].value;
    CLEAVE_TRY(AlignedMemory made, AlignedMemory::make(g.name(v), g.type(v)));
    memory.push_back(std::move(made));
    const auto& [bytes, data] = memory.back();
    CLEAVE_CHECK(there.bind(*instance, i, {data.get(), bytes, inputs[i].dtype}));
    report.peak_bytes += rounded(bytes);
  }
  instance->fill_arena_pattern();
  instance->profile_kernels(o.profile);
  std::vector<double> times;
  times.reserve(static_cast<size_t>(o.repeat));
  int64_t max_allocated = 0;
  for (int r = 0; r < o.repeat; ++r) {
    for (size_t i = 0; i < inputs.size(); ++i)
      to_memory(inputs[i], g.type(g.placeholders()[i].value), memory[i].data.get());
    CLEAVE_CHECK(there.copy_in());
    runtime::AllocWatch watch;
    watch.start();
    const auto begin = Clock::now();
    Status s = instance->run();
    times.push_back(ms_since(begin));
    max_allocated = std::max(max_allocated, watch.stop().peak_live_bytes);
    CLEAVE_CHECK(std::move(s));
  }
  if (o.profile)
    print_profile(instance->step_times(), o.repeat, instance->device_memory() != nullptr);
  report.graphs = instance->graph_counts();
  if (report.graphs.skipped > 0) {
    const Warning warning{"cudagraphs", skip_text(report.graphs.reason)};
    Notices().warn({&warning, 1});
  }
  report.run_ms = median(times);
  report.peak_bytes += program->constant_bytes() + instance->touched_arena_bytes();
  if (options.device.is_cpu()) report.peak_bytes += max_allocated;  // no memory of a device
  Arrays out;
  for (size_t k = 0; k < g.returns().size(); ++k)
    out.push_back(from_memory(returned_type(g, k), instance->result(k)));
  return out;
}

Result<Arrays> run_reference(const Graph& g, const Arrays& inputs, const Options& o,
                             RunReport& report) {
  std::vector<const Array*> pointers;
  for (const Array& a : inputs) pointers.push_back(&a);
  std::vector<double> times;
  Result<Arrays> out = Arrays{};
  for (int r = 0; r < o.repeat && out.ok(); ++r) {
    const auto begin = Clock::now();
    out = interpret(g, pointers, Results::computed);
    times.push_back(ms_since(begin));
  }
  report.run_ms = median(times);
  if (out.ok())
    for (Array& a : *out)
      if (a.floating()) a.dtype = DType::f64;  // unrounded
  return out;
}

// The results beside those of the reference engine, to which no pass was applied. Error (bug): they
// differ by more than roundings can.
Status compare(Graph forward, const OpRegistry& ops, const Arrays& inputs, const Arrays& results,
               const StageOptions& options) {
  StageOptions plain = options;
  plain.passes_off = {"all"};
  CLEAVE_CHECK(run_stages(Stage::autocast, Stage::grad, forward, ops, plain));
  CLEAVE_TRY(const Agreement agreement,
             compare_with_oracle(forward, inputs, results,
                                 options.strict ? Narrowing::kept : Narrowing::may_be_dropped));
  if (agreement.difference.empty()) return {};
  return bug("compare: return {}, %{}: {}", agreement.at,
             forward.name(forward.returns()[agreement.at].value), agreement.difference);
}

Status run(Options& o) {
  CLEAVE_CHECK(check_options(o));
  CLEAVE_TRY(StageOptions options, stage_options(o));
  CLEAVE_CHECK(check_files({{"GRAPH", o.graph}, {"--in", o.in}},
                           {{"--out", o.out}, {"--trace", o.trace.path}},
                           o.json ? Stdout::json : Stdout::free));
  CLEAVE_TRY(OpRegistry ops, core_ops());
  CLEAVE_TRY(Model model, read_model(o.graph, ops));
  Program p = std::move(model.program);
  CLEAVE_TRY(const auto given, read_inputs(o.in, std::move(model.weights)));
  CLEAVE_TRY(p.main, sized_graph(std::move(p.main), given, o.sizes));
  CLEAVE_CHECK(o.device.apply(p.main, ops, options));
  if (o.engine == "compiled") {
    CLEAVE_CHECK(check_device_runs(options));
    CLEAVE_TRY(options.executor, runtime::start_threads(options.threads));
    o.trace.watch(options);
  }
  if (o.engine == "reference") options.passes_off.emplace_back("all");
  options.grad = o.grad && std::ranges::any_of(p.main.placeholders(), &Placeholder::wants_grad);
  const Graph forward = p.main;
  CLEAVE_CHECK(run_stages(Stage::autocast, Stage::grad, p.main, ops, options));
  if (o.mode == "pytorch" && !p.main.is_joint())
    return user_error(
        "@{}: --mode pytorch cuts a joint graph: expected one, or --grad and placeholders that are "
        "marked grad",
        p.main.name());
  CLEAVE_TRY(const Arrays inputs, complete_inputs(p.main, given, o.inputs));
  options.write_inputs = [&](const std::string& path) {
    return write_tensors(path, named_inputs(p.main, inputs));
  };
  RunReport report;
  CLEAVE_TRY(Arrays results, o.engine == "compiled"
                                 ? run_compiled(p.main, ops, inputs, options, o, report)
                                 : run_reference(p.main, inputs, o, report));
  if (o.compare)
    if (Status same = compare(forward, ops, inputs, results, options); !same.ok()) {
      options.grad = o.grad;
      return ReproOf(forward, options, " --compare").told(std::move(same).failure());
    }
  std::map<std::string, Array> named;
  for (size_t k = 0; k < results.size(); ++k) {
    const Return& r = p.main.returns()[k];
    named[r.kind == ReturnKind::grad ? "grad." + p.main.name(r.target) : fmt::format("out.{}", k)] =
        std::move(results[k]);
  }
  if (!o.out.empty()) CLEAVE_CHECK(write_tensors(o.out, named));
  CLEAVE_CHECK(o.trace.write());
  if (o.json) {
    Json out = {{"compile_ms", report.compile_ms},
                {"run_ms", report.run_ms},
                {"kernels", report.kernels},
                {"peak_bytes", report.peak_bytes},
                {"planned_peak_bytes", report.planned_peak_bytes},
                {"target", planning_backend(options)->target().text()},
                {"device", options.device.text()}};
    const GraphCounts& graphs = report.graphs;
    if (!options.device.is_cpu() || !graphs.reason.empty())
      out["cudagraphs"] = {{"recorded", graphs.recorded},
                           {"launched", graphs.launched},
                           {"skipped", graphs.skipped},
                           {"reason", graphs.reason}};
    return print_json(out);
  }
  const bool taken = goes_to_stdout(o.out) || goes_to_stdout(o.trace.path);
  std::FILE* const to = taken ? stderr : stdout;
  for (const auto& [name, a] : named)
    fmt::print(to, "{}: {}\n", name, Type(a.dtype, Shape(a.shape.begin(), a.shape.end())).text());
  fmt::print(stderr,
             "compiled in {:.1f} ms, {} kernels, ran in {:.3f} ms; peak {} B, planned {} B\n",
             report.compile_ms, report.kernels, report.run_ms, report.peak_bytes,
             report.planned_peak_bytes);
  return {};
}

}  // namespace

Command run_command() {
  return {
      "run", "run a graph on tensors from a file",
      "  cleave run model.clv --in x.safetensors --out y.safetensors --grad\n"
      "  cleave run model.clv --random --repeat 20 --json\n"
      "  cleave run model.clv --random --repeat 20 --trace run.json\n"
      "  cleave run dynamic.clv --random --size s0=8,s1=128",
      [](OptionList& options) {
        auto o = std::make_shared<Options>();
        options.required("GRAPH", o->graph, graph_help);
        options.option("--in", o->in, "inputs, under their placeholders' names (.safetensors)");
        options.option("--out", o->out,
                       "results: out.0, out.1, ..., grad.NAME (.safetensors); - is stdout");
        options.option("--engine", o->engine,
                       "compiled, or reference: float64, results as F64, unrounded; bf16 and f16 "
                       "values are rounded where another call reads them, to inf beyond the range");
        options.flag(
            "--grad", o->grad,
            "also the gradients of sum(out.i * cotangent.i) by the placeholders marked `grad`, "
            "missing cotangents are 1");
        o->autocast.add_to(options);
        o->cache.add_to(options);
        options.option(
            "--budget", o->budget,
            "of the peak: 64MiB, or 60% of that without a budget; pytorch: its fraction");
        options.option("--mode", o->mode, "exact, pytorch, or default: nothing is recomputed");
        o->rules.add_to(options);
        o->choice.add_all_to(options);
        options.option("--fuse", o->fuse, "on or off");
        options.option("--compiler", o->compiler,
                       "automatic (default), clang, cc, or none: interpret");
        o->target.add_to(options);
        o->device.add_to(options);
        options.option("--threads", o->threads, "0: one a core");
        options.option("--repeat", o->repeat, "runs from the same inputs; the median is reported");
        options.option("--seed", o->inputs.seed, "of --random and of a missing rng state");
        options.flag("--random", o->inputs.random, "make the inputs that are not given");
        options.option("--dump", o->dump, "folder for every stage of the compilation");
        options.flag("--compare", o->compare,
                     "compare the results with those of the reference engine: a difference that "
                     "roundings don't explain is a defect, exit status 3");
        options.flag("--profile", o->profile, "the time of each step, longest first");
        o->trace.add_to(options);
        o->library.add_to(options);
        options.option("--repro", o->repro, repro_help);
        options.option("--size", o->sizes, size_help);
        options.flag("--json", o->json, "print one JSON object");
        return [o] { return run(*o); };
      }};
}

}  // namespace cleave::tool
