#include <cstdio>

#include "compilers/compilers.h"

namespace cleave {

GraphCompiler print_compile(GraphCompiler then) {
  require_compiler(then, "print_compile");
  return [then = std::move(then)](const TracedGraph& graph, const HostTensors& examples) {
    std::fputs(graph.text().c_str(), stdout);
    return then(graph, examples);
  };
}

}  // namespace cleave
