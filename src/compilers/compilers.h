// What the compilers of include/cleave/compiler.h share.
#pragma once
#include "cleave/compiler.h"
#include "compilers/traced_graph.h"
#include "exec/graph_function.h"

namespace cleave {

// The callable of a function; throws what a run refuses.
GraphCallable callable_of(std::shared_ptr<GraphFunction> function);

// For the oracle: the elements, which may lie by any strides.
Array array_of(const HostTensor& t);
// Of a static type, by its strides; floating elements are rounded to its dtype.
HostTensor tensor_of(const Array& a, const Type& type);

}  // namespace cleave
