// Random well-typed graphs, drawn from the operators' entries: each node is a call like one of an
// entry's samples, on values that were made before and brought to the sample's type. So an operator
// joins by having an entry.
//
//   RandomGraph r = value_or_throw(random_graph(ops, 17, {}));     // 17 always gives the same
//
// Values are kept tame: what is not finite or large is not used further. Integers and fractions
// come into an operand's range by remainder and by sin.
#pragma once
#include "ir/array.h"
#include "ir/graph.h"
#include "ir/specialize.h"
#include "test/sample/sample_call.h"

namespace cleave::random {

struct GraphOptions {
  int least_nodes = 10, most_nodes = 60;
  std::vector<std::string> without = {};  // operators that are not drawn
  bool random = true;                     // operators that read a random state are
  law::Floats floats = law::Floats::own;
};

struct RandomGraph {
  Graph g{"main"};
  Arrays inputs;              // one for each placeholder
  SymbolValues symbols = {};  // of symbolic sizes
};

Result<RandomGraph> random_graph(const OpRegistry& ops, uint64_t seed, const GraphOptions& options);

// Every fifth seed's graph in mixed precision, in bf16 and f16 in turns. Whether it was cast.
Result<bool> cast_some(RandomGraph& r, const OpRegistry& ops, uint64_t seed);

// The joint graph with random cotangents after the inputs, or `r` where nothing in it has a
// gradient; symbols have their values in it.
Result<RandomGraph> with_gradients(const RandomGraph& r, const OpRegistry& ops, uint64_t seed);

}  // namespace cleave::random
