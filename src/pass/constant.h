// Patterns for a constant operand: a number given for a tensor, or a full of one.
#pragma once
#include "rewrite/match.h"
#include "rewrite/pattern.h"

namespace cleave {

// Either form binds the number to `name`. The full may have other users.
Pattern constant(const std::string& name);

// The call `full`, which may have other users, with its number bound to `name`.
Pattern full_of(const std::string& name);

// Whether the number is exactly v; false for symbolic ones.
bool is_number(const Match& m, const char* name, double v);

}  // namespace cleave
