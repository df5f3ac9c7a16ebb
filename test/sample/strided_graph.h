// A random graph whose placeholders and results lie otherwise in memory: permuted, padded, with
// gaps, interleaved; floats that are only read also over themselves. No value is another for it.
//
//   RandomGraph s = with_strides(r, 17);   // s as compiled is without_strides(s), bit for bit
#pragma once
#include "test/sample/random_graph.h"

namespace cleave::random {

// Strides for about three quarters of the placeholders (of every role; symints and symbolic types
// have none), half of the results and gradients, and a few values inside. Of elements that share a
// place in memory all get the value of one, so that inputs differ from those of `r`.
RandomGraph with_strides(RandomGraph r, uint64_t seed);

// The same graph and inputs, all row-major.
RandomGraph without_strides(RandomGraph r);

}  // namespace cleave::random
