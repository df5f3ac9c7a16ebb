// Requirements of cond, while_loop and call on the graphs that they refer to.
//
//   (C2) one placeholder for each operand, not counting symints
//   (C3) each has its operand's dtype, device and sizes, and is row-major; of a call, any strides
//   (C4) returns only results (no updates, no gradients), at least one
//   (C5) each symint is the caller's of that name, and its range contains the caller's
#pragma once
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/op_def.h"

namespace cleave {

// What C3 says of strides: there are none, or nothing.
enum class SubgraphStrides : uint8_t { none, any };

// Checks C2 to C5 for the graph of an attribute. A missing graph breaks C2.
Status check_subgraph(const OpView& op, const char* attr, std::span<const Type* const> operands,
                      SubgraphStrides strides = SubgraphStrides::none);

// Returns whether dtype and device are equal and sizes are provably equal.
bool is_same_type(const OpView& op, const Type& a, const Type& b);
// Returns whether t is a bool of one element.
bool is_flag(const OpView& op, const Type& t);

// The items of the list operand.
std::vector<const Type*> list_types(const OpView& op);

// The sum over the calls of g; a cond counts as its costlier branch and a loop as one iteration.
Cost cost_of_graph(const Graph& g);

// The text of a graph for samples: cond and while_loop take graphs as text.
//
//   graph_text("%a: input f32[3]", {"%r = sin(%a)"}, "%r")
std::string graph_text(const std::string& placeholders, const std::vector<std::string>& calls,
                       const std::string& results);

}  // namespace cleave
