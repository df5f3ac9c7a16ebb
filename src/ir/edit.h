// Edits that every room uses: dead code, common subexpressions, order, copies, pieces.
#pragma once
#include <functional>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"

namespace cleave {

// Both also work in the subgraphs that g's nodes refer to (subgraph.h).

// Erases nodes that no return, and no node with an effect, needs. Returns how many.
int64_t eliminate_dead_code(Graph& g);

// Merges equal calls (same operator, operands, attributes; not random, effect or different tags);
// the first name survives. Calls for which `may_merge` is false stay as they are, and none is
// merged into them; empty: all may. It isn't asked about subgraphs. Returns how many nodes went.
int64_t eliminate_common_subexpressions(Graph& g,
                                        const std::function<bool(NodeId)>& may_merge = {});

// By node: whether the call computes again what an earlier one gives: the same operator and
// attributes, of operands that are the same or computed again themselves. Tags aside; calls with an
// effect never do.
std::vector<bool> repeated_calls(const Graph& g);

// Operands before users: a sorted graph stays as it is, and an operand that stands too late moves
// to just before its first user. Fails on a cycle, naming it.
Status sort_topologically(Graph& g);

// Copies the nodes `order` of `from` into `to`, operands mapped through `map` (extended by the
// results). Operands missing from the map are a failure that names them.
Status copy_nodes(const Graph& from, const std::vector<NodeId>& order, Graph& to,
                  std::unordered_map<uint32_t, ValueId>& map);

// The call once more, in front of `before`, its operands mapped through `again` where they are in
// it; the results, named after the first ones with .again, are put there too.
Status repeat_call(Graph& g, NodeId n, NodeId before, std::unordered_map<uint32_t, ValueId>& again);

// The graph that computes `outputs` of g from `inputs` of g (as placeholders of the given role
// where they are not placeholders already). Symints that it mentions come first, asked for or not.
// Fails, naming the value, where an output needs more.
Result<Graph> extract_subgraph(const Graph& g, const std::string& name, const Values& inputs,
                               const Values& outputs, Role role);

}  // namespace cleave
