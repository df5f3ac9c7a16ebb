// Inverts views: the operand's layout from the result's.
#pragma once
#include <optional>

#include "loop/lower_rule.h"

namespace cleave {

// The layout of operand 0 that gives the view's result the layout `result`; nullopt if the result
// isn't all of the operand's elements, each once, or there is no such layout.
std::optional<loop::Layout> undo_view(const OpView& op, const loop::ViewRule& rule,
                                      const loop::Layout& result);

// Whether the layouts are equal, up to the strides of dims of one element.
bool same_elements(const loop::Layout& a, const loop::Layout& b);

}  // namespace cleave
