// Text inside HTML, SVG and attributes in double quotes.
#pragma once
#include <string>
#include <string_view>

namespace cleave {

// With < > & " ' as entities; a space for each control character and a question mark for each byte
// that isn't UTF-8, so that whatever a file says is shown and nothing of it is obeyed.
std::string markup_text(std::string_view text);

}  // namespace cleave
