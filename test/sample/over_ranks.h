// Graphs that hold collectives, run over as many ranks as their groups have.
#pragma once
#include "ir/array.h"
#include "ir/graph.h"

namespace cleave::test {

// How many ranks the graph is meant for: the group_size of its collectives, 2 where none has one, 1
// without collectives.
int64_t ranks_of(const Graph& g);

// interpret() for one rank, interpret_ranks() for several: all ranks' results in a row. Inputs are
// by placeholder; each further rank has others, of the same types.
Result<Arrays> run_over_ranks(const Graph& g, const Arrays& inputs, int64_t ranks);

}  // namespace cleave::test
