// The oracle: runs a graph node by node with the operators' reference rules.
//
//   CLEAVE_TRY(Arrays results, interpret(g, {{"x", x}, {"w", w}}));   // one for each entry of
//   return
//
// Integers and booleans are exact. Floating numbers are held in float64, by one rule of rounding:
//
//   f64, f32    are never rounded: no sum of f32 loses digits, none overflows
//   bf16, f16   are rounded where another call reads them, to infinity beyond their range: that is
//               what the type means, and what compiled code does at each call
//   results     are what their calls computed, before that (`Results` says which is wanted); so is
//               a view of one, and what a branch or loop returns. Conversions compute the rounding
//
// So the product of 300 and 300 in f16 is 90000 where it is returned, and infinity in f32 where a
// conversion has read it.
//
// No decomposition, gradient or lowering code runs here. A symbolic graph is first specialised to
// the inputs' shapes (ir/specialize.h); symints need not be among the inputs. An array is freed
// after its last use.
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

// Of bf16 and f16 results: as memory would hold them, or as their calls computed them.
enum class Results : uint8_t { stored, computed };

// `inputs` has one array for each placeholder, in order; null only for a symint. The results are
// one for each entry of return, updates and gradients included.
Result<Arrays> interpret(const Graph& g, std::span<const Array* const> inputs, Results results);
// As memory would hold them.
Result<Arrays> interpret(const Graph& g, std::span<const Array* const> inputs);

// Inputs by name. Names of no placeholder are refused.
Result<Arrays> interpret(const Graph& g, const std::map<std::string, Array>& inputs);

// One node on concrete operands, one for each flat operand, null for none and numbers: what
// interpret() does at each node. The results are as another call reads them.
Result<Arrays> run_node(const Graph& g, NodeId n, std::span<const Array* const> operands);

}  // namespace cleave
