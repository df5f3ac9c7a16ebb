// Random chains of conds whose branches share subgraphs: graphs of level k refer to graphs of level
// k - 1, several times and in any order, so that there are far more paths through a program than
// graphs.
//
//   RandomGraph r = branch_graph(ops, 3, {.levels = 12});     // 3 always gives the same
//
// A branch computes smooth functions of its operands, at times calls a loop on values without a
// gradient, and passes its operands to its conds in other orders; conditions compare sums with
// numbers that aren't close to them.
#pragma once
#include "test/sample/random_graph.h"

namespace cleave::random {

struct BranchOptions {
  int levels = 6;
  int graphs = 2;     // of a level
  int max_conds = 2;  // of a graph
  // On detached values, which finite differences of the whole graph don't include.
  bool loops = true;
  DType dtype = DType::f64;
};

std::string branch_graph_text(uint64_t seed, const BranchOptions& options);
RandomGraph branch_graph(const OpRegistry& ops, uint64_t seed, const BranchOptions& options);

}  // namespace cleave::random
