// The oracle over several ranks: one program, run by all of them in step (SPMD).
//
//   RankGroups groups = {{"tp", {{0, 1}, {2, 3}}}, {"dp", {{0, 2}, {1, 3}}}};
//   CLEAVE_TRY(std::vector<Arrays> results, interpret_ranks(g, {in0, in1, in2, in3}, groups));
//
// Each rank has inputs of its own, and runs as interpret() would but for collectives: these see the
// operands of all ranks of their group, in the group's order (OpDef::ranks). As all ranks run the
// same calls in the same order, none ever waits for another in vain. A symbolic graph may have
// other sizes on other ranks; what meets in a collective must not.
//
// Errors: those of interpret, and (user) a group that doesn't name each rank once, operands of a
// collective that differ in type between its ranks; (unsupported) a collective within a subgraph,
// whose branches ranks may take apart.
#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "ir/array.h"
#include "ir/graph.h"

namespace cleave {

// A group's name to its ranks, apart in lists: each rank stands in one. A name that isn't there
// stands for all ranks, in their order.
using RankGroups = std::map<std::string, std::vector<std::vector<int>>>;

// Inputs by name for each rank, results for each rank: one for each entry of return.
Result<std::vector<Arrays>> interpret_ranks(const Graph& g,
                                            std::span<const std::map<std::string, Array>> inputs,
                                            const RankGroups& groups = {});

}  // namespace cleave
