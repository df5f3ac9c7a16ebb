// The oracle over several ranks: one program, run by all of them in step (SPMD).
//
//   RankGroups groups = {{"tp", {{0, 1}, {2, 3}}}, {"dp", {{0, 2}, {1, 3}}}};
//   CLEAVE_TRY(std::vector<Arrays> results, interpret_ranks(g, {in0, in1, in2, in3}, groups));
//
// Each rank has its own inputs, and runs as interpret() would except for collectives: these see the
// operands of all ranks of their group, in the group's order (OpDef::ranks). As all ranks run the
// same calls in the same order, there are no deadlocks. Sizes in a symbolic graph may differ
// between ranks, but not those of a collective's operands.
//
// Errors: those of interpret, and (user) a group that doesn't name each rank once, operands of a
// collective whose types differ between its ranks; (unsupported) a collective within a subgraph,
// since ranks may take different branches.
#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "ir/array.h"
#include "ir/graph.h"

namespace cleave {

// Maps a group's name to disjoint lists of ranks: each rank is in one list. A name without an entry
// means all ranks, in their order.
using RankGroups = std::map<std::string, std::vector<std::vector<int>>>;

// Takes inputs by name for each rank; returns the results of each rank: one for each entry of
// return.
Result<std::vector<Arrays>> interpret_ranks(const Graph& g,
                                            std::span<const std::map<std::string, Array>> inputs,
                                            const RankGroups& groups = {});

}  // namespace cleave
