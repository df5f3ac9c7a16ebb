// Decides where in memory values are made, before they are lowered.
//
//   %a = mm(%x, %y)          %a ─┐
//   %b = exp(%z)             %b ─┴─► %c      their kernels write directly into the memory of %c
//   %c = cat([%a, %b])
//
// A join is a call that only puts operands side by side (KernelRule::parts). An operand that
// nothing else reads, maybe through views, gets its part of the result's memory as its place,
// unless its call can't write there: the library writes only some layouts; placeholders, views of a
// part and operands of another dtype have no kernel that could. The join copies what isn't in its
// place.
//
// Apart from joins, a value that is read through views that row-major memory doesn't allow
// (attention heads back to rows) is laid out so that these views need no copy.
//
//   near   The result takes memory from its first part on, so a part that is made long before the
//          last one is copied instead.
#pragma once
#include <unordered_map>

#include "ir/graph.h"
#include "loop/lower_rule.h"

namespace cleave {

struct Place {
  ValueId whole;        // the value whose storage it is in
  loop::Layout layout;  // from the start of that storage
};
using Places = std::unordered_map<uint32_t, Place>;  // by value

// By value; for a graph whose calls are fused already.
Places place_values(const Graph& graph);

bool is_join(const OpView& op);

// The value that must be made, and its layout, so that `v` has the layout given: v itself, or what
// it is a view of. None if something else reads that too, or it is a placeholder.
struct Wanted {
  ValueId value;
  loop::Layout layout;
};
std::optional<Wanted> made_before_views(const Graph& graph, ValueId v, loop::Layout layout);
// Whether the call that makes it can write it in that layout.
bool can_write(const Graph& graph, const Wanted& wanted);

}  // namespace cleave
