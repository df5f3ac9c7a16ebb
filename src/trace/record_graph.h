// Records the calls of a graph in the program that is being traced, as if its functions had been
// called one by one.
#pragma once
#include "trace/recording.h"

namespace cleave::trace {

// `g` is static; `given` has what takes the place of each placeholder, that of a state of random
// numbers aside, for which the program's is taken, and of symints. Returns what takes the place of
// each entry of `return`. Streams of random numbers and regions of checkpoints become new ones of
// the program. Errors (user): the graph draws random numbers where the program doesn't; a rule
// refuses a call.
Values record_graph(Recording& r, const Graph& g, const Values& given, Location at);

}  // namespace cleave::trace
