#include "compilers/compilers.h"
#include "ir/strides.h"

namespace cleave {

Status check_results(const Graph& g, const HostTensors& results, const std::string& what) {
  if (results.size() != g.returns().size())
    return user_error("{} returned {} tensors, expected {}", what, results.size(),
                      g.returns().size());
  for (size_t k = 0; k < results.size(); ++k) {
    const Type& type = returned_type(g, k);
    const bool has_shape = type.is_static() ? results[k].shape() == static_shape(type)
                                            : results[k].rank() == type.rank();
    if (results[k].dtype() != type.dtype || !has_shape)
      return user_error("{}: result {}: {}, expected {}", what, k, results[k].type_text(),
                        type.text());
  }
  return {};
}

HostTensor borrowed(const HostTensor& t) {
  return HostTensor::borrow(t.dtype(), t.shape(), t.strides(), const_cast<void*>(t.data()));
}

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
