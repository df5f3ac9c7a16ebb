#include <cstdio>

#include "base/write_file.h"
#include "compilers/compilers.h"
#include "compilers/dump_files.h"
#include "inspect/graph_drawing.h"

namespace cleave {

GraphCompiler draw_compile(const std::string& path, bool clear_meta, GraphCompiler then) {
  require_compiler(then, "draw_compile");
  return [=](const TracedGraph& graph, const HostTensors& examples) {
    const Graph& g = graph.state().graph;
    std::fputs(graph.text().c_str(), stdout);
    const GraphDrawing shown{.types = !clear_meta, .sources = !clear_meta};
    const bool is_small = g.node_count() <= largest_graph_drawing;
    value_or_throw(write_file(path + (is_small ? ".svg" : ".dot"),
                              is_small ? graph_svg(g, shown) : graph_dot(g, shown)));
    return then(graph, examples);
  };
}

}  // namespace cleave
