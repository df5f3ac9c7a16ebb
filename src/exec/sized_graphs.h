// A graph compiled for sizes as they come, whose programs share the functions of their kernels from
// the second size on (compile/code_pool.h).
//
//   SizedGraphs sizes(graph, ops, options);
//   CLEAVE_TRY(SizedGraph a, sizes.made({{"s", 8}}));     // alone
//   CLEAVE_TRY(SizedGraph b, sizes.made({{"s", 12}}));   // learns kernels of sizes around
//   CLEAVE_TRY(SizedGraph c, sizes.made({{"s", 13}}));   // no compiler runs, most likely
#pragma once
#include <memory>
#include <vector>

#include "compile/code_pool.h"
#include "exec/sized_graph.h"

namespace cleave {

// Other sizes that show what numbers in kernels depend on: each symbol one more and one less, twice
// and half as large, at its least, and all of them at once; those that its range allows.
std::vector<SymbolValues> sizes_around(const Graph& g, const SymbolValues& symbols);

// Not thread-safe. Doesn't move: the pool asks it for samples.
class SizedGraphs {
 public:
  SizedGraphs(Graph graph, Operators ops, CompileOptions options);
  SizedGraphs(const SizedGraphs&) = delete;
  SizedGraphs& operator=(const SizedGraphs&) = delete;

  Result<SizedGraph> made(const SymbolValues& symbols);
  const Graph& graph() const { return graph_; }
  const CompileOptions& options() const { return options_; }
  int64_t count() const { return count_; }            // of programs made
  int64_t recompiles() const { return recompiles_; }  // those that a pool had no function for

 private:
  void learn(CodePool& pool, CodePool::When when);

  const Graph graph_;
  const Operators ops_;
  const CompileOptions options_;
  int64_t count_ = 0, recompiles_ = 0;
  SymbolValues first_, current_;
  std::shared_ptr<CodePool> pool_;
};

}  // namespace cleave
