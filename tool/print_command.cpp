// cleave print G.clv: prints a graph in the canonical format.
#include "op/registry.h"
#include "tool/autocast_option.h"
#include "tool/command.h"
#include "tool/graph_file.h"

namespace cleave::tool {

Command print_command() {
  return {"print", "print a graph again, as cleave writes it",
          "  cleave print model.clv\n  cleave print --canonical model.clv | sha256sum",
          [](OptionList& options) {
            struct Options {
              std::string graph;
              AutocastOption autocast;
              bool canonical = false;
            };
            auto o = std::make_shared<Options>();
            options.required("GRAPH", o->graph, graph_help);
            o->autocast.add_to(options);
            options.flag("--canonical", o->canonical, "renumber the names of values");
            return [o]() -> Status {
              CLEAVE_TRY(OpRegistry ops, core_ops());
              CLEAVE_TRY(Program p, read_program(o->graph, ops));
              CLEAVE_CHECK(o->autocast.apply(p.main, ops));
              return write_text("-", print(p, o->canonical ? Naming::canonical : Naming::own));
            };
          }};
}

}  // namespace cleave::tool
