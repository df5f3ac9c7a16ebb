// A random graph with one of its sizes replaced by a symbol: rules must infer, differentiate and
// build the same as with the number.
#pragma once
#include "test/sample/random_graph.h"

namespace cleave::random {

// Every size n of the inputs as the symbol s0 (or a multiple of it), and with it the attributes
// that have to say the same; nullopt where no size of the graph can be changed so.
std::optional<RandomGraph> with_symbol(const RandomGraph& r, uint64_t seed);

}  // namespace cleave::random
