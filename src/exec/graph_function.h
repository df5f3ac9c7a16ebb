// A graph as a function of tensors: compiled for the sizes that come, each once.
//
//   GraphFunction f(graph, ops, options);
//   CLEAVE_TRY(HostTensors out, f.run(std::move(in)));     // in is empty now
//
// There is one tensor for each placeholder, a symint's is an i64 of 0 dims, and one result for each
// entry of `return`: updates are results, and no input is written. A tensor that owns its memory is
// freed behind its last reader; a result that is an input is that tensor, or a copy of one that
// borrows its memory. With CompileOptions::freeze, what depends on no input is computed once.
#pragma once
#include <memory>
#include <mutex>

#include "exec/recently_used.h"
#include "exec/sized_graphs.h"

namespace cleave {

class GraphFunction {
 public:
  GraphFunction(Graph graph, Operators ops, CompileOptions options);

  // Runs of one function come one after the other. Errors (user): another number of inputs, dtypes,
  // sizes or strides than the graph's, memory that doesn't suit the elements, an index out of
  // range; those of compilation.
  Result<HostTensors> run(HostTensors&& inputs);
  // Compiles for these inputs; true: it hadn't been.
  Result<bool> prepare(const HostTensors& inputs);
  const Graph& graph() const { return sizes_.graph(); }

 private:
  Result<SizedGraph*> sized(const HostTensors& inputs, bool& is_new);
  HostTensors results(const SizedGraph& program,
                      std::vector<std::optional<HostTensor>>& inputs) const;

  std::mutex mutex_;
  SizedGraphs sizes_;  // of the graph whose updates are results
  RecentlyUsed<std::shared_ptr<SizedGraph>> programs_;
};

}  // namespace cleave
