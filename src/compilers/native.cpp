#include "compilers/compilers.h"

namespace cleave {

GraphCallable callable_of(std::shared_ptr<GraphFunction> function) {
  return [function = std::move(function)](HostTensors&& inputs) {
    return value_or_throw(function->run(std::move(inputs)));
  };
}

GraphCompiler native(CompileOptions options) {
  return [options = std::move(options)](const TracedGraph& graph, const HostTensors& examples) {
    const auto& [g, ops] = graph.state();
    auto function = std::make_shared<GraphFunction>(g, ops, options);
    value_or_throw(function->prepare(examples));
    return callable_of(std::move(function));
  };
}

}  // namespace cleave
