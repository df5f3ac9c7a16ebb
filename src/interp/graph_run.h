// The state of running a static graph on one rank: the values so far, node by node. The oracle's
// loops use it (interpret.h, interpret_ranks.h). It does the rounding: calls return unrounded
// numbers, and read numbers rounded as interpret.h says.
//
//   CLEAVE_TRY(GraphRun run, GraphRun::start(g, inputs));
//   for (size_t k = 0; k < run.size(); ++k) {
//     CLEAVE_TRY(Arrays results, run_node(run.graph(), run.node(k), run.operands(k)));
//     run.store(k, std::move(results));
//   }
//   return run.results();
#pragma once
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "interp/interpret.h"
#include "ir/array.h"
#include "ir/graph.h"

namespace cleave {

class GraphRun {
 public:
  // Checks the inputs, one for each placeholder (null only for a symint), and specialises a
  // symbolic graph to their shapes. `g` must outlive the run. Errors (user): those of interpret.
  static Result<GraphRun> start(const Graph& g, std::span<const Array* const> inputs);
  // Starts a subgraph, which is static like its caller: a symint's range is its value.
  static Result<GraphRun> start_subgraph(const Graph& g, std::span<const Array* const> operands);

  const Graph& graph() const { return *graph_; }
  size_t size() const { return order_.size(); }
  NodeId node(size_t k) const { return order_[k]; }
  // The operands of the k-th node: one for each flat operand, null for none and numbers. A view
  // gets its operand unrounded.
  std::vector<const Array*> operands(size_t k) const;
  // Stores the k-th node's results and frees the values that it was the last to use.
  void store(size_t k, Arrays results);
  // One for each entry of return.
  Arrays results(Results which) const;

 private:
  GraphRun(std::shared_ptr<const Graph> g, std::vector<Array> values);

  std::shared_ptr<const Graph> graph_;
  std::vector<NodeId> order_;
  std::vector<size_t> last_use_;        // by value: a position in the order; its end for a result
  std::vector<bool> leads_to_results_;  // by value: it or a view of it is returned
  std::vector<Array> values_;           // rounded, as calls read them
  std::vector<Array> computed_;         // the same values before rounding
};

// Inputs by name, in the order of placeholders. Error (user): a name that isn't a placeholder's.
Result<std::vector<const Array*>> by_placeholder(const Graph& g,
                                                 const std::map<std::string, Array>& inputs);

// Rounds bf16 and f16 to values of the type; beyond its range, to infinity.
void round_halves(Array& a);

// Checks a reference rule's results for a node against its types. Fails with the node's line if the
// rule failed, or (bug) if the results don't have the inferred types.
Result<Arrays> settled(const Graph& g, NodeId n, Result<Arrays> results);
// The failure with the node's line appended.
Failure at_line(const Graph& g, NodeId n, Failure f);

}  // namespace cleave
