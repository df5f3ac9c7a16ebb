#include "compile/option_word.h"

#include <algorithm>

namespace cleave {
namespace {

bool is_quote(char c) { return c == '"' || c == '\''; }

}  // namespace

std::string word_of(std::string_view text, std::string_view marks) {
  const auto is_special = [&](char c) {
    return is_quote(c) || spaces.find(c) != spaces.npos || marks.find(c) != marks.npos;
  };
  if (!text.empty() && std::ranges::none_of(text, is_special)) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    constexpr std::string_view escaped = "\"\\\n\r\t", letters = "\"\\nrt";
    const size_t k = escaped.find(c);
    if (k == escaped.npos)
      out += c;
    else
      (out += '\\') += letters[k];
  }
  return out + '"';
}

Result<size_t> end_of_word(std::string_view line, std::string_view marks) {
  size_t at = 0;
  if (!line.empty() && is_quote(line[0])) {
    for (at = 1; at < line.size() && line[at] != line[0]; ++at)
      if (line[at] == '\\') ++at;
    if (at >= line.size())
      return user_error("the closing {} of {} is missing", line[0], line.substr(0, 60));
  }
  while (at < line.size() && spaces.find(line[at]) == spaces.npos &&
         marks.find(line[at]) == marks.npos)
    ++at;
  return at;
}

Result<std::string> text_of_word(std::string_view word) {
  if (word.empty() || !is_quote(word[0])) return std::string(word);
  std::string out;
  size_t at = 1;
  for (; at < word.size() && word[at] != word[0]; ++at) {
    char c = word[at];
    if (c == '\\' && at + 1 < word.size()) {
      c = word[++at];
      c = c == 'n' ? '\n' : c == 'r' ? '\r' : c == 't' ? '\t' : c;
    }
    out += c;
  }
  if (at + 1 != word.size())
    return user_error("{} goes on after its closing {}", word.substr(0, 60), word[0]);
  return out;
}

}  // namespace cleave
