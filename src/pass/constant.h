// A constant operand in patterns: a number that stands for a tensor, or a full of one.
#pragma once
#include "rewrite/match.h"
#include "rewrite/pattern.h"

namespace cleave {

// Either binds the number to `name`. The full may have other readers.
Pattern constant(const std::string& name);

// The call `full`, whatever else reads it, its number bound to `name`.
Pattern full_of(const std::string& name);

// Whether the number is exactly v; symbolic ones are not.
bool is_number(const Match& m, const char* name, double v);

}  // namespace cleave
