// Words of a line: a text that may stand in quotes, "..." or '...', where \ stands before a quote
// or a \, and \n, \r and \t are the characters that C++ has by these names.
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"

namespace cleave {

// What stands between words.
constexpr std::string_view spaces = " \t\r\n";

// The text as a word: in quotes if it is empty or has a space, a quote or one of `marks` in it.
std::string word_of(std::string_view text, std::string_view marks = {});
// The place after the first word of a line, before a space or one of `marks`. Error (user): it
// begins with a quote that isn't closed.
Result<size_t> end_of_word(std::string_view line, std::string_view marks = {});
// The text of a word. Error (user): something stands after its closing quote.
Result<std::string> text_of_word(std::string_view word);

}  // namespace cleave
