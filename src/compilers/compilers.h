// What the compilers of include/cleave/compiler.h share.
#pragma once
#include "cleave/compiler.h"
#include "compilers/traced_graph.h"
#include "exec/graph_function.h"

namespace cleave {

// The callable of a function; throws what a run refuses.
GraphCallable callable_of(std::shared_ptr<GraphFunction> function);

// Throws (user), behind `what`, if a compiler is empty that another one is made of.
inline void require_compiler(const GraphCompiler& compiler, const char* what) {
  if (!compiler) throw_failure(user_error("{}: the compiler that it is given is empty", what));
}

// A compiler of the host program may return anything: whether these are results of the graph.
// Errors (user), which begin with `what`: another number of them, another dtype or shape.
Status check_results(const Graph& g, const HostTensors& results, const std::string& what);

// The same memory, which stays the caller's.
HostTensor borrowed(const HostTensor& t);

// For the oracle: the elements, which may lie by any strides.
Array array_of(const HostTensor& t);
// Of a static type, by its strides; floating elements are rounded to its dtype.
HostTensor tensor_of(const Array& a, const Type& type);

}  // namespace cleave
