// Random chains of conds whose branches share subgraphs: level k's graphs refer to graphs of level
// k - 1, several times and in any order, so that there are far more ways through a program than
// graphs.
//
//   RandomGraph r = branch_graph(ops, 3, {.levels = 12});     // 3 always gives the same
//
// A branch computes smooth functions of its operands, calls a loop on values without a gradient now
// and then, and hands its conds its operands in other orders; flags are comparisons of sums with
// numbers that such sums don't come near.
#pragma once
#include "test/sample/random_graph.h"

namespace cleave::random {

struct BranchOptions {
  int levels = 6;
  int graphs = 2;     // of a level
  int max_conds = 2;  // of a graph
  // On values that are cut off (detach), which differences of the whole don't see.
  bool loops = true;
  DType dtype = DType::f64;
};

std::string branch_graph_text(uint64_t seed, const BranchOptions& options);
RandomGraph branch_graph(const OpRegistry& ops, uint64_t seed, const BranchOptions& options);

}  // namespace cleave::random
