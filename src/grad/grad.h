// Derivatives: a forward graph becomes a joint graph, by each operator's grad rule, in reverse
// order.
#pragma once
#include "ir/builder.h"

namespace cleave {

struct GradRequest {
  Values outputs;     // floating values of the graph
  Values cotangents;  // one for each output, of its type; none counts as absent
  Values wrt;         // values whose gradients are asked for
};

// Appends the backward to g and gives the gradient of each `wrt` value: none where nothing reaches
// it. Only nodes on a path from `wrt` to `outputs` are visited; integer and nondifferentiable
// results carry nothing. Fails with Unsupported, naming the operator, where a rule that is needed
// is absent.
Result<Values> add_gradients(Graph& g, const OpRegistry& ops, const GradRequest& request);

// For each value of the graph, whether `result` depends on it by differentiable results.
std::vector<bool> reached_from(const Graph& g, ValueId result);

// The joint graph: one `tangent` placeholder for each differentiable result (named tangent.K by its
// position in `return`; updates have none), and `-> grad %p` for each placeholder marked grad
// (zeros where nothing reaches it). Updates stay. A graph without differentiable results is a
// UserError.
Result<Graph> make_joint(const Graph& forward, const OpRegistry& ops);

}  // namespace cleave
