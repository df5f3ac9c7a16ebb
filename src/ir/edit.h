// Edits that all parts of the compiler use: dead code, common subexpressions, order, copies,
// pieces.
#pragma once
#include <functional>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"

namespace cleave {

// These two also edit the subgraphs that g's nodes refer to (subgraph.h).

// Erases nodes that no return and no node with an effect depends on. Returns how many.
int64_t eliminate_dead_code(Graph& g);

// Merges equal calls: same operator, operands, attributes and tags, neither random nor with an
// effect. The first one's names survive. Calls for which `may_merge` is false are neither merged
// nor merged into; if it is empty, all calls may be merged. It isn't consulted in subgraphs.
// Returns how many nodes were erased.
int64_t eliminate_common_subexpressions(Graph& g,
                                        const std::function<bool(NodeId)>& may_merge = {});

// By node: whether the call recomputes the result of an earlier one, that is, has the same operator
// and attributes, and operands that are the same or are recomputed themselves. Ignores tags; never
// true for calls with an effect.
std::vector<bool> repeated_calls(const Graph& g);

// Puts definitions before uses. A sorted graph is unchanged; a definition that comes too late moves
// to just before its first user. Fails on a cycle and names it.
Status sort_topologically(Graph& g);

// Copies the nodes `order` of `from` into `to`, at its end or before a node. Operands are mapped
// through `map`, to which the results are added. Fails and names the operands that are missing from
// the map.
Status copy_nodes(const Graph& from, const std::vector<NodeId>& order, Graph& to,
                  std::unordered_map<uint32_t, ValueId>& map, NodeId before = {});

// Inserts a copy of the call before `before`, with operands mapped through `again` where it has an
// entry. The copy's results are named after the originals with .again and are added to `again`.
Status repeat_call(Graph& g, NodeId n, NodeId before, std::unordered_map<uint32_t, ValueId>& again);

// The graph that computes `outputs` of g from `inputs` of g (which become placeholders of the given
// role if they aren't placeholders already). The symints that it mentions come first, whether
// listed or not. Fails and names the value if an output depends on anything else.
Result<Graph> extract_subgraph(const Graph& g, const std::string& name, const Values& inputs,
                               const Values& outputs, Role role);

}  // namespace cleave
