#include <cstdio>

#include "cleave/compiler.h"

namespace cleave {

GraphCompiler print_compile(GraphCompiler then) {
  return [then = std::move(then)](const TracedGraph& graph, const HostTensors& examples) {
    std::fputs(graph.text().c_str(), stdout);
    return then(graph, examples);
  };
}

}  // namespace cleave
