// Derivatives: turns a forward graph into a joint graph by each operator's grad rule, in reverse
// order.
#pragma once
#include "ir/builder.h"

namespace cleave {

struct GradRequest {
  Values outputs;     // floating values of the graph
  Values cotangents;  // one for each output, of its type; none means absent
  Values wrt;         // values whose gradients are requested
};

// Appends the backward to g and returns the gradient of each `wrt` value: none where no path leads
// to it. Only nodes on a path from `wrt` to `outputs` are visited; integer and nondifferentiable
// results carry no gradient. Fails with Unsupported, naming the operator, if a rule that is needed
// is absent.
Result<Values> add_gradients(Graph& g, const OpRegistry& ops, const GradRequest& request);

// For each value of the graph: whether `result` depends on it through differentiable results.
std::vector<bool> reached_from(const Graph& g, ValueId result);

// The joint graph: one `tangent` placeholder for each differentiable result (named tangent.K by its
// position in `return`; updates have none), and `-> grad %p` for each placeholder marked grad
// (zeros where no path leads to it). Updates are kept. A graph without differentiable results is a
// UserError.
Result<Graph> make_joint(const Graph& forward, const OpRegistry& ops);

}  // namespace cleave
