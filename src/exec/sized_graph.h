// A graph compiled for one choice of its sizes, with an instance that runs it.
#pragma once
#include <memory>

#include "compile/code_pool.h"
#include "exec/folded_values.h"
#include "ir/specialize.h"

namespace cleave {

struct SizedGraph {
  // Every placeholder of `graph` is an input of the program, which is what its roles say. With
  // CompileOptions::freeze, what depends on no input is computed once.
  // With a pool its kernels are functions of that.
  static Result<SizedGraph> make(const Graph& graph, const Operators& ops,
                                 const CompileOptions& options, const SymbolValues& symbols,
                                 std::shared_ptr<CodePool> pool = nullptr);

  Graph graph;  // static
  std::unique_ptr<Instance> instance;
  std::shared_ptr<const FoldedValues::List> folded;  // null unless it is frozen
  Report report;
};

// The values of a graph's symints for these inputs, by the shapes and the symints among them.
// Errors (user): another number of inputs, another dtype, rank or size than the graph's.
Result<SymbolValues> symbols_of(const Graph& g, const HostTensors& inputs);

// Whether a tensor has the dtype and sizes of placeholder k of a static graph, and its strides.
Status check_input(const Graph& g, size_t k, const HostTensor& t);
// A copy by the strides of placeholder k, of a tensor that differs from it in these alone; nothing
// for one that doesn't.
std::optional<HostTensor> laid_as_input(const Graph& g, size_t k, const HostTensor& t);

}  // namespace cleave
