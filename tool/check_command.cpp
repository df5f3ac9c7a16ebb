// cleave check G.clv: parses and verifies a graph, or the kernels of a .loops file; prints nothing
// if they are valid.
#include "loop/parse.h"
#include "op/registry.h"
#include "tool/command.h"
#include "tool/graph_file.h"

namespace cleave::tool {
namespace {

struct Options {
  std::string graph;
  bool json = false;
};

Status check_graph(const Options& o) {
  CLEAVE_TRY(OpRegistry ops, core_ops());
  CLEAVE_TRY(Program p, read_program(o.graph, ops));
  size_t nodes = p.main.node_count();
  for (const GraphRef& g : p.subgraphs) nodes += g->node_count();
  return o.json ? print_json({{"nodes", nodes}, {"graphs", p.subgraphs.size() + 1}}) : Status();
}

Status check_kernels(const Options& o) {
  CLEAVE_TRY(const std::string text, read_text(o.graph));
  CLEAVE_TRY(const std::vector<loop::Kernel> kernels, loop::parse_kernels(text, o.graph));
  for (const loop::Kernel& k : kernels) CLEAVE_CHECK(loop::verify(k));
  return o.json ? print_json({{"kernels", kernels.size()}}) : Status();
}

}  // namespace

Command check_command() {
  return {
      "check", "parse and verify a graph, or kernels; silent when well",
      "  cleave check model.clv\n  cleave check --json model.clv\n"
      "  cleave check stages/10_lower.loops",
      [](OptionList& options) {
        auto o = std::make_shared<Options>();
        options.required("GRAPH", o->graph,
                         "a graph (.clv) or a model of PyTorch (.pt2); - is stdin; .loops: "
                         "kernels, as compile --dump "
                         "writes them");
        options.flag("--json", o->json, "print one JSON object: nodes, graphs; of .loops kernels");
        return [o] { return o->graph.ends_with(".loops") ? check_kernels(*o) : check_graph(*o); };
      }};
}

}  // namespace cleave::tool
