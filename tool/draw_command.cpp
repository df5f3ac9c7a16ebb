// cleave draw G.clv -o g.svg: a graph as a picture.
#include "inspect/graph_drawing.h"
#include "op/registry.h"
#include "pass/pipeline.h"
#include "tool/command.h"
#include "tool/graph_file.h"
#include "tool/named_files.h"

namespace cleave::tool {
namespace {

struct Options {
  std::string graph, out, pass;
  bool plain = false;
};

Result<std::string> drawn(const Graph& g, const Options& o) {
  const GraphDrawing shown{.types = !o.plain, .sources = !o.plain};
  if (o.out.ends_with(".dot")) return graph_dot(g, shown);
  if (!o.out.ends_with(".svg"))
    return user_error("-o {}: expected a name that ends in .svg or .dot", o.out);
  if (g.node_count() > largest_graph_drawing)
    return user_error(
        "@{} has {} calls, more than the {} that can be read in a picture: expected "
        "-o NAME.dot",
        g.name(), g.node_count(), largest_graph_drawing);
  return graph_svg(g, shown);
}

Status draw(const Options& o) {
  CLEAVE_CHECK(check_files({{"GRAPH", o.graph}}, {{"-o", o.out}}, Stdout::free));
  CLEAVE_TRY(OpRegistry ops, core_ops());
  CLEAVE_TRY(Program p, read_program(o.graph, ops));
  if (!o.pass.empty()) {
    CLEAVE_TRY(const Pass pass, find_pass(o.pass));
    CLEAVE_CHECK(run_pass(pass, p.main, ops, {}));
  }
  CLEAVE_TRY(const std::string text, drawn(p.main, o));
  return write_text(o.out, text);
}

}  // namespace

Command draw_command() {
  return {
      "draw", "a graph as a picture, or as text for Graphviz",
      "  cleave draw model.clv -o model.svg\n"
      "  cleave draw model.clv --pass fuse_addmm -o after.svg",
      [](OptionList& options) {
        auto o = std::make_shared<Options>();
        options.required("GRAPH", o->graph, graph_help);
        options.required("-o,--out", o->out,
                         "NAME.svg, to 200 calls, or NAME.dot, in Graphviz's language");
        options.option("--pass", o->pass, "run this pass first: before and after are two calls");
        options.flag("--plain", o->plain, "names and operators alone, no types and source lines");
        return [o] { return draw(*o); };
      }};
}

}  // namespace cleave::tool
