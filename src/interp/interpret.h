// The oracle: runs a graph node by node with the operators' reference rules.
//
//   CLEAVE_TRY(Arrays results, interpret(g, {{"x", x}, {"w", w}}));   // one for each entry of
//   return
//
// f64 and f32 values are held in float64 unrounded, bf16 and f16 values are rounded to their type
// after each node, integers and booleans are exact. No decomposition, gradient or lowering code
// runs here. A symbolic graph is first specialised to the inputs' shapes (ir/specialize.h); symints
// need not be among the inputs. An array is freed after its last use.
//
// Devices and strides change nothing: this is the reference for all of them.
//
// Errors: an input that is missing, of another dtype or shape, or whose elements differ that share
// a place by its placeholder's strides (user); what a reference rule refuses, an index out of range
// for one, with the node's line; results that
// are not what infer said (bug).
#pragma once
#include <map>
#include <span>
#include <string>

#include "ir/array.h"
#include "ir/graph.h"

namespace cleave {

// `inputs` has one array for each placeholder, in order; null only for a symint. The results are
// one for each entry of return, updates and gradients included.
Result<Arrays> interpret(const Graph& g, std::span<const Array* const> inputs);

// Inputs by name. Names of no placeholder are refused.
Result<Arrays> interpret(const Graph& g, const std::map<std::string, Array>& inputs);

// One node on concrete operands, one for each flat operand, null for none and numbers: what
// interpret() does at each node.
Result<Arrays> run_node(const Graph& g, NodeId n, std::span<const Array* const> operands);

}  // namespace cleave
