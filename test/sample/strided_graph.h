// A random graph with other layouts of placeholders and results: permuted, padded, with gaps,
// interleaved; floating values that are only read may also overlap themselves. Values are
// unchanged.
//
//   RandomGraph s = with_strides(r, 17);   // s as compiled is without_strides(s), bit for bit
#pragma once
#include "test/sample/random_graph.h"

namespace cleave::random {

// Strides for about three quarters of the placeholders (of every role; symints and symbolic types
// have none), half of the results and gradients, and a few values inside. Elements at the same
// address all get the value of one of them, so inputs may differ from those of `r`.
RandomGraph with_strides(RandomGraph r, uint64_t seed);

// The same graph and inputs, all row-major.
RandomGraph without_strides(RandomGraph r);

}  // namespace cleave::random
