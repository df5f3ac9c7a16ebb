// cleave check G.clv: parse and verify; silent when well.
#include "op/registry.h"
#include "tool/command.h"
#include "tool/graph_file.h"

namespace cleave::tool {

Command check_command() {
  return {"check", "parse and verify a graph; silent when well",
          "  cleave check model.clv\n  cleave check --json model.clv", [](OptionList& options) {
            struct Options {
              std::string graph;
              bool json = false;
            };
            auto o = std::make_shared<Options>();
            options.required("GRAPH", o->graph, "the graph's text; - is stdin");
            options.flag("--json", o->json, "print one JSON object: nodes, graphs");
            return [o]() -> Status {
              CLEAVE_TRY(OpRegistry ops, core_ops());
              CLEAVE_TRY(Program p, read_program(o->graph, ops));
              size_t nodes = p.main.node_count();
              for (const GraphRef& g : p.subgraphs) nodes += g->node_count();
              if (o->json) print_json({{"nodes", nodes}, {"graphs", p.subgraphs.size() + 1}});
              return {};
            };
          }};
}

}  // namespace cleave::tool
