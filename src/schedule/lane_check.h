// Decides which loops run in lanes: 16 iterations (64 in a loop over columns) at a time, each
// statement for all of them.
#pragma once
#include "loop/kernel.h"

namespace cleave::schedule {

// Whether the iterations of a loop run in lanes; it may contain short loops that don't. For a
// Reduce: whether its innermost loop does. For a variable: whether the block may run for lanes of
// it. rows: also those of a parallel loop over rows that are folded and shorter than a vector,
// whose own loops could run in lanes too, of which some would do nothing.
bool runs_in_lanes(const loop::Kernel& k, const loop::For& f, bool rows);
// Whether a loop over columns runs in lanes if these are 16: then their elements need not be
// adjacent, but are gathered.
bool runs_in_few_lanes(const loop::Kernel& k, const loop::For& columns);
bool runs_in_lanes(const loop::Kernel& k, const loop::Reduce& r);
bool runs_in_lanes(const loop::Kernel& k, const loop::Expr& var, const loop::Block& independent);

}  // namespace cleave::schedule
