// cleave build G.clv -o step.so: a program ahead of time.
#include <chrono>

#include "ahead/build_library.h"
#include "ahead/held_sizes.h"
#include "compile/stages.h"
#include "op/registry.h"
#include "pass/freeze/frozen_values.h"
#include "runtime/thread_pool.h"
#include "tool/autocast_option.h"
#include "tool/command.h"
#include "tool/graph_file.h"
#include "tool/named_files.h"
#include "tool/pass_choice.h"
#include "tool/static_sizes.h"
#include "tool/target_option.h"
#include "train/match_tensors.h"

namespace cleave::tool {
namespace {

struct Options {
  std::string graph, in, out, weights, name;
  std::vector<std::string> sizes;
  AutocastOption autocast;
  TargetOption target;
  PassChoice choice;
  int threads = 0;
  bool grad = false, freeze = false, json = false;
};

Result<WeightPlace> weight_place(const Options& o) {
  if (o.weights.empty()) return o.in.empty() ? WeightPlace::none : WeightPlace::inside;
  if (o.weights == "inside") return WeightPlace::inside;
  if (o.weights == "beside") return WeightPlace::beside;
  if (o.weights == "none") return WeightPlace::none;
  return user_error("--weights {}: expected inside, beside or none", o.weights);
}

std::string_view role_name(Role role) {
  switch (role) {
    case Role::param: return "parameter";
    case Role::rng_state: return "random";
    default: return name_of(role);
  }
}

// Whether all that a run could find as the last one left it is const.
bool holds_constants_alone(const Graph& g) {
  bool any = false;
  for (const Placeholder& p : g.placeholders()) {
    if (p.role == Role::param || p.role == Role::buffer) return false;
    any = any || p.role == Role::constant;
  }
  return any;
}

using Values = std::optional<SafetensorsFile>;

ahead::Source::State state_of(const Graph& g, const Placeholder& p, bool freezes,
                              const Values& values) {
  const std::string& name = g.name(p.value);
  ahead::Source::State out{name, std::string(role_name(p.role))};
  if (p.role == Role::constant || (freezes && is_kept(g, p.value)))
    out.kind = standalone::StateKind::constant;
  if (p.role == Role::rng_state) out.value = HostTensor(DType::i64, {2});
  if (const TensorEntry* given = values ? values->find(name) : nullptr)
    out.value = host_tensor(*given);
  return out;
}

// Adds a graph: what its placeholders and results are to a caller, by the first one.
void add_graph(Graph g, std::vector<int64_t> sizes, const Values& values, ahead::Source& source) {
  const bool is_first = source.sized.empty();
  ahead::Source::Program& out =
      source.sized.emplace_back(ahead::Source::Sized{std::move(sizes), {.graph = std::move(g)}})
          .step;
  const Graph& graph = out.graph;
  for (const Placeholder& p : graph.placeholders()) {
    const std::string& name = graph.name(p.value);
    if (p.role == Role::input || p.role == Role::tangent || p.role == Role::saved) {
      if (is_first) source.inputs.push_back(p.role == Role::tangent ? "co" + name : name);
      out.inputs.push_back(name);
    } else if (p.role == Role::symint) {
      for (size_t s = 0; s < source.sizes.size(); ++s)
        if (source.sizes[s].name == name) out.sizes[name] = s;
    } else {
      const auto known = std::ranges::find(source.state, name, &ahead::Source::State::name);
      out.state[name] = static_cast<size_t>(known - source.state.begin());
      if (known == source.state.end())
        source.state.push_back(state_of(graph, p, source.options.freeze, values));
    }
  }
  for (size_t k = 0; k < graph.returns().size(); ++k) {
    const Return& r = graph.returns()[k];
    if (r.kind == ReturnKind::update) continue;
    if (is_first)
      source.outputs.push_back(r.kind == ReturnKind::grad ? "grad." + graph.name(r.target)
                                                          : fmt::format("out.{}", k));
    out.outputs.emplace_back(k);
  }
}

// The graph at the sizes that are asked for, up to the stage grad.
Result<ahead::Source> source_of(const Options& o, const Graph& g, const OpRegistry& ops,
                                StageOptions stages, const Values& values) {
  ahead::Source out{.ops = &ops};
  std::string names;
  for (const Placeholder& p : g.placeholders())
    if (p.role == Role::symint) {
      out.sizes.push_back({g.name(p.value), p.sym.range.lo, p.sym.range.hi});
      names +=
          fmt::format("{}{}={},...", names.empty() ? "" : ",", g.name(p.value), p.sym.range.lo);
    }
  CLEAVE_TRY(auto asked, parse_size_lists(g, o.sizes, "--size"));
  CLEAVE_TRY(const auto held, ahead::held_sizes(out.sizes, {.sizes = std::move(asked),
                                                            .option = "--size " + names}));
  for (const std::vector<int64_t>& sizes : held) {
    Graph graph = g;
    SymbolValues symbols;
    for (size_t s = 0; s < sizes.size(); ++s) symbols[out.sizes[s].name] = sizes[s];
    if (!sizes.empty()) { CLEAVE_TRY(graph, specialize(g, symbols)); }
    stages.grad = o.grad && std::ranges::any_of(graph.placeholders(), &Placeholder::wants_grad);
    CLEAVE_CHECK(run_stages(Stage::autocast, Stage::grad, graph, ops, stages));
    if (out.sized.empty()) {
      out.options = stages;
      out.options.freeze = o.freeze || holds_constants_alone(graph);
    }
    add_graph(std::move(graph), sizes, values, out);
  }
  return out;
}

Status run(const Options& o) {
  const auto start = std::chrono::steady_clock::now();
  if (o.threads < 0 || o.threads > 1024)
    return user_error("--threads {}: expected 0 to 1024", o.threads);
  CLEAVE_CHECK(o.choice.check());
  CLEAVE_TRY(const WeightPlace weights, weight_place(o));
  CLEAVE_CHECK(check_files({{"GRAPH", o.graph}, {"--in", o.in}}, {{"-o", o.out}},
                           o.json ? Stdout::json : Stdout::free));
  if (goes_to_stdout(o.out)) return user_error("-o: a library has several files, expected a path");
  CLEAVE_TRY(OpRegistry ops, core_ops());
  CLEAVE_TRY(Model model, read_model(o.graph, ops));
  const Program p = std::move(model.program);
  Values values;
  if (!o.in.empty()) {
    CLEAVE_TRY(values, open_tensors(o.in));
  } else if (!model.weights.empty()) {
    CLEAVE_TRY(values, as_file(model.weights, o.graph));
  }
  StageOptions stages;
  CLEAVE_TRY(stages.autocast, o.autocast.dtype());
  CLEAVE_TRY(stages.target, o.target.target());
  CLEAVE_TRY(stages.executor, runtime::start_threads(o.threads));
  o.choice.apply(stages);
  CLEAVE_TRY(const ahead::Source source, source_of(o, p.main, ops, stages, values));
  CLEAVE_TRY(const BuiltLibrary built,
             ahead::build_library(source, o.out, {.name = o.name, .weights = weights}));
  const double ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  if (o.json)
    return print_json({{"bytes", built.bytes},
                       {"code_bytes", built.code_bytes},
                       {"weight_bytes", built.weight_bytes},
                       {"build_ms", ms},
                       {"path", built.path},
                       {"key", built.key},
                       {"target", stages.target.text()}});
  fmt::print("{}: {} B, {} B of them code\n{}\n{}\n", built.path, built.bytes, built.code_bytes,
             built.header, built.description);
  if (!built.weights.empty()) fmt::print("{}: {} B\n", built.weights, built.weight_bytes);
  return {};
}

}  // namespace

Command build_command() {
  return {"build", "build a library that runs without cleave",
          "  cleave build model.clv --in weights.safetensors --size n=1,8,64 -o step.so\n"
          "  cleave build model.clv --grad --weights none --target x86-64-v3 -o step.so",
          [](OptionList& options) {
            auto o = std::make_shared<Options>();
            options.required("GRAPH", o->graph, graph_help);
            options.option("-o,--out", o->out,
                           "the library; step.h and step.json lie beside it (default: KEY.so)");
            options.option("--in", o->in,
                           "values of parameters, buffers and constants, by name (.safetensors)");
            options.option("--weights", o->weights,
                           "where these are: inside the library, beside it, or none (default: "
                           "inside with --in)");
            options.option("--name", o->name,
                           "of its C functions, NAME_open and so on (default: the file's)");
            options.flag(
                "--grad", o->grad,
                "also the gradients of sum(out.i * cotangent.i) by the placeholders marked `grad`; "
                "the cotangents are inputs");
            options.flag("--freeze", o->freeze,
                         "parameters and buffers that nothing updates are constants, too: what "
                         "depends on constants alone is computed when it is opened");
            o->autocast.add_to(options);
            o->choice.add_all_to(options);
            options.option("--target,--cpu", o->target.text,
                           "native, x86-64-v2, x86-64-v3, x86-64-v4, x86-64-v4-bf16, "
                           "x86-64-v4-amx, aarch64, or a file of cleave tune");
            options.option("--threads", o->threads, "that compile; 0: one a core");
            options.option("--size", o->sizes,
                           "that the library holds, of a symint: s0=1,8,64 or s0=8,s1=1,16, each "
                           "with each (default: all of its range, if these are 32 or fewer)");
            options.flag("--json", o->json,
                         "print one JSON object: bytes, code_bytes, weight_bytes, build_ms, ...");
            return [o] { return run(*o); };
          }};
}

}  // namespace cleave::tool
