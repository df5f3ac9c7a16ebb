// Where values will lie, before they are lowered.
//
//   %a = mm(%x, %y)          %a ─┐
//   %b = exp(%z)             %b ─┴─► %c      written by their own kernels where %c wants them
//   %c = cat([%a, %b])
//
// A join is a call that only puts operands side by side (KernelRule::part). An operand that nothing
// else reads, after views or not, gets its part of the result's memory as its place. Left out are
// those whose call can't write there: the library writes products without gaps; what is a
// placeholder, a view of a part, or of another dtype has nobody to write it. The join copies what
// isn't in its place.
//
// Apart from joins, a value that is read through views of which row-major memory has none (heads
// back into rows) is made so that those are views.
//
//   near   The whole result takes memory from its first part on. So a part that is made long before
//          the last one is copied.
#pragma once
#include <unordered_map>

#include "ir/graph.h"
#include "loop/lower_rule.h"

namespace cleave {

struct Place {
  ValueId whole;        // in whose storage
  loop::Layout layout;  // from the start of that
};
using Places = std::unordered_map<uint32_t, Place>;  // by value

// Of a graph that is lowered call by call.
Places place_values(const Graph& graph);

bool is_join(const OpView& op);

// The value that is to be made, and how, so that `v` lies as wanted: v itself, or what it is a view
// of. None where something else reads that, or nobody makes it.
struct Wanted {
  ValueId value;
  loop::Layout layout;
};
std::optional<Wanted> made_before_views(const Graph& graph, ValueId v, loop::Layout layout);
// Whether the call that makes it can write it so.
bool can_write(const Graph& graph, const Wanted& wanted);

}  // namespace cleave
