// Partial lowering: how long a graph of a million calls takes to be taken apart, and what is lost
// where a model's softmax stays outside.
//
//   bench_partial [--calls 1000000] [--model gpt2] [--refuse _softmax]
//
//   lowered     from the graph to regions and what is outside, 2 of 100 calls refused
//   coverage    calls in regions, of the model's forward with its loss, attention taken apart
//   run         of the parts, and of the whole compiled as one; the calls outside run by their
//               reference rules, in float64
#include <cstdlib>
#include <cstring>

#include "bench/graphs/layer_graph.h"
#include "bench/models/step_models.h"
#include "bench/timing.h"
#include "cleave/decompositions.h"
#include "cleave/partial.h"
#include "compilers/compilers.h"
#include "op/registry.h"

namespace {

using namespace cleave;

void lower_many(int64_t calls) {
  const OpRegistry ops = value_or_throw(core_ops());
  const TracedGraph g = traced_graph(bench::layer_graph(ops, calls), {});
  for (const Grouping grouping : {Grouping::runs, Grouping::convex}) {
    int64_t asked = 0;
    PartialOptions options{.grouping = grouping};
    options.node = [&](const GraphCall&) { return ++asked % 50 != 0; };
    const auto begin = bench::Clock::now();
    const PartialProgram p = partial_lower(g, options);
    const double ms = bench::ms_since(begin);
    std::printf("%-7s %9lld calls  lowered in %7.0f ms  %8zu regions, %8zu outside\n",
                grouping == Grouping::runs ? "runs" : "convex", static_cast<long long>(calls), ms,
                p.regions().size(), p.outside().size());
  }
}

double least_ms(const GraphCallable& f, const HostTensors& inputs) {
  double least = 1e300;
  for (int k = 0; k < 3; ++k) {
    HostTensors given = inputs;
    const auto begin = bench::Clock::now();
    f(std::move(given));
    least = std::min(least, bench::ms_since(begin));
  }
  return least;
}

void lower_model(const std::string& name, const std::string& refused) {
  const bench::StepModel m = bench::make_step_model(name);
  const CompileOptions plain{.passes_off = {"all"}};
  const CompiledFunction traced = compile(*m.module, m.loss, m.specs, plain);
  const TracedGraph g =
      Decompositions()
          .with({"scaled_dot_product_attention", "_scaled_dot_product_flash_attention_for_cpu"})
          .apply(TracedGraph::parse(traced.graph_text()));
  const Store store = m.module->store();
  HostTensors inputs;
  for (const GraphValue& v : g.inputs()) {
    size_t k = 0;
    while (k < m.specs.size() && m.specs[k].name != v.name) ++k;
    inputs.push_back(k < m.specs.size() ? m.inputs[k] : store.at(v.name).value());
  }
  PartialOptions options;
  options.node = [&](const GraphCall& call) { return call.op != refused; };
  for (const Grouping grouping : {Grouping::runs, Grouping::convex}) {
    options.grouping = grouping;
    PartialProgram p = partial_lower(g, options);
    const double ms = least_ms([&](HostTensors&& in) { return p.run(std::move(in)); }, inputs);
    const double whole = least_ms(native()(g, inputs), inputs);
    double outside = 0, compile = 0;
    for (const OutsideCall& c : p.outside()) outside += c.run_ms;
    for (const LoweredRegion& r : p.regions()) compile += r.compile_ms;
    const std::string coverage = p.coverage();
    std::printf(
        "%-7s %s without %s: %s\n        compiled in %.0f ms; run %.0f ms, of it %.0f "
        "outside; the whole %.0f ms\n",
        grouping == Grouping::runs ? "runs" : "convex", name.c_str(), refused.c_str(),
        coverage.substr(0, coverage.find('\n')).c_str(), compile, ms, outside, whole);
  }
}

}  // namespace

int main(int argc, char** argv) {
  int64_t calls = 1000000;
  std::string model = "gpt2", refused = "_softmax";
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--calls") == 0) calls = std::atoll(argv[i + 1]);
    if (std::strcmp(argv[i], "--model") == 0) model = argv[i + 1];
    if (std::strcmp(argv[i], "--refuse") == 0) refused = argv[i + 1];
  }
  lower_many(calls);
  lower_model(model, refused);
}
