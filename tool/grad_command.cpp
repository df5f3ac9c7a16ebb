// cleave grad G.clv -o J.clv: derives the joint graph of a forward graph.
#include "op/registry.h"
#include "tool/command.h"
#include "tool/graph_file.h"
#include "tool/joint_graph.h"
#include "tool/named_files.h"

namespace cleave::tool {

Command grad_command() {
  return {"grad", "derive the joint forward and backward graph",
          "  cleave grad model.clv -o joint.clv", [](OptionList& options) {
            struct Options {
              std::string graph, out = "-";
              JointOptions joint;
              bool json = false;
            };
            auto o = std::make_shared<Options>();
            options.required("GRAPH", o->graph, "a forward graph; - is stdin");
            options.option("-o,--out", o->out, "where the joint graph goes (default: stdout)");
            o->joint.add_to(options);
            options.flag("--json", o->json, "print one JSON object: nodes (needs -o FILE)");
            return [o]() -> Status {
              CLEAVE_CHECK(check_files({{"GRAPH", o->graph}}, {{"-o", o->out}},
                                       o->json ? Stdout::json : Stdout::free));
              CLEAVE_TRY(OpRegistry ops, core_ops());
              CLEAVE_TRY(Program p, read_program(o->graph, ops));
              if (p.main.is_joint())
                return user_error("@{}: has tangents or gradients already", p.main.name());
              CLEAVE_CHECK(make_joint_graph(p.main, ops, o->joint));
              const size_t nodes = p.main.node_count();
              CLEAVE_CHECK(write_text(o->out, print(p.main)));
              return o->json ? print_json({{"nodes", nodes}}) : Status();
            };
          }};
}

}  // namespace cleave::tool
