// A random graph at other values of its symbol.
#pragma once
#include "test/sample/random_graph.h"

namespace cleave::random {

// `r` has a symbolic size. Its static graph where the symbol is `value`, with inputs of these
// sizes: the elements of `r`'s, again and again. Errors: those of specialize.
Result<RandomGraph> at_size(const RandomGraph& r, int64_t value);

}  // namespace cleave::random
