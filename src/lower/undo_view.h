// Layouts through views: the operand's from the result's.
#pragma once
#include <optional>

#include "loop/lower_rule.h"

namespace cleave {

// How operand 0 of a view lies whose result lies as given; nullopt where the result isn't all of
// the operand's elements, each once, or there is no such layout.
std::optional<loop::Layout> undo_view(const OpView& op, const loop::ViewRule& rule,
                                      const loop::Layout& result);

// Equal but for the strides of dims of one element.
bool same_elements(const loop::Layout& a, const loop::Layout& b);

}  // namespace cleave
