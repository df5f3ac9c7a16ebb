// A static graph in the course of its run on one rank: the values so far, node by node. What the
// oracle's loops are made of (interpret.h, interpret_ranks.h). It rounds: calls give numbers as
// they were computed, and read them as interpret.h says.
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
  // symbolic graph to their shapes. `g` outlives the run. Errors (user): as interpret.
  static Result<GraphRun> start(const Graph& g, std::span<const Array* const> inputs);
  // A subgraph, static as its caller is: a symint's range is its value.
  static Result<GraphRun> start_subgraph(const Graph& g, std::span<const Array* const> operands);

  const Graph& graph() const { return *graph_; }
  size_t size() const { return order_.size(); }
  NodeId node(size_t k) const { return order_[k]; }
  // Of the k-th node: one for each flat operand, null for none and numbers. A view is handed its
  // operand as it was computed.
  std::vector<const Array*> operands(size_t k) const;
  // Keeps the k-th node's results and frees what it was the last to read.
  void store(size_t k, Arrays results);
  // One for each entry of return.
  Arrays results(Results which) const;

 private:
  GraphRun(std::shared_ptr<const Graph> g, std::vector<Array> values);

  std::shared_ptr<const Graph> graph_;
  std::vector<NodeId> order_;
  std::vector<size_t> last_use_;        // by value: a place in the order, its end for a result
  std::vector<bool> leads_to_results_;  // by value: it is returned, or views of it are
  std::vector<Array> values_;           // as calls read them
  std::vector<Array> computed_;         // of these, before they were rounded
};

// Inputs by name, in the order of placeholders. Error (user): a name of no placeholder.
Result<std::vector<const Array*>> by_placeholder(const Graph& g,
                                                 const std::map<std::string, Array>& inputs);

// Rounds bf16 and f16 to what the type holds: infinity beyond its range.
void round_halves(Array& a);

// What a reference rule gave for a node, held against its types. Fails with the node's line: where
// the rule failed; results that are not what infer said (bug).
Result<Arrays> settled(const Graph& g, NodeId n, Result<Arrays> results);
// The failure with the node's line after it.
Failure at_line(const Graph& g, NodeId n, Failure f);

}  // namespace cleave
