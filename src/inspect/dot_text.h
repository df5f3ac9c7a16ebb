// A text in Graphviz's language: in double quotes, with its line breaks.
#pragma once
#include <string>
#include <string_view>

namespace cleave {

std::string dot_text(std::string_view text);

}  // namespace cleave
