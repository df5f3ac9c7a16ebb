// Of a table of definitions, those that a text uses.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace cleave::emit {

struct Definition {
  std::string_view name, text;
};

// The definitions whose names stand in the text, or in that of a definition taken, in the order of
// the table, which has a definition before its uses; each on lines of its own.
std::string used_text(std::span<const Definition> table, std::string_view text);

}  // namespace cleave::emit
