// The oracle: runs a graph node by node with the operators' reference rules.
//
//   CLEAVE_TRY(Arrays results, interpret(g, {{"x", x}, {"w", w}}));   // one per entry of return
//
// Integers and booleans are exact. Floating numbers are held in float64 and rounded as follows:
//
//   f64, f32    are never rounded: no sum of f32 loses digits, none overflows
//   bf16, f16   are rounded where another call reads them, beyond their range to infinity: the type
//               requires this, and compiled code does it at each call
//   results     are unrounded (`Results` selects); so are views of them, and what a branch or loop
//               returns. Conversions compute the rounding
//
// So the product of 300 and 300 in f16 is 90000 where it is returned, and infinity in f32 after a
// conversion has read it.
//
// No decomposition, gradient or lowering code runs here. A symbolic graph is first specialised to
// the inputs' shapes (ir/specialize.h); symints may be missing from the inputs. An array is freed
// after its last use.
//
// Devices and strides don't affect the results: this is the reference for all of them.
//
// Errors: an input that is missing, has another dtype or shape, or whose elements differ although
// they share a location by its placeholder's strides (user); what a reference rule refuses, such as
// an index out of range, with the node's line; results that don't have the inferred types (bug).
#pragma once
#include <map>
#include <span>
#include <string>

#include "ir/array.h"
#include "ir/graph.h"

namespace cleave {

// How bf16 and f16 results are returned: rounded as memory would hold them, or unrounded.
enum class Results : uint8_t { stored, computed };

// `inputs` has one array for each placeholder, in order; null only for a symint. Returns one array
// for each entry of return, including updates and gradients.
Result<Arrays> interpret(const Graph& g, std::span<const Array* const> inputs, Results results);
// With results as memory would hold them.
Result<Arrays> interpret(const Graph& g, std::span<const Array* const> inputs);

// Inputs by name. A name that isn't a placeholder's is refused.
Result<Arrays> interpret(const Graph& g, const std::map<std::string, Array>& inputs);

// Runs one node on concrete operands, one for each flat operand, null for none and numbers, as
// interpret() does. The results are rounded as another call would read them.
Result<Arrays> run_node(const Graph& g, NodeId n, std::span<const Array* const> operands);

}  // namespace cleave
