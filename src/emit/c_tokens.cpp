#include "emit/c_tokens.h"

#include <algorithm>

namespace cleave::emit {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool in_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

size_t end_of_number(std::string_view text, size_t at) {
  while (at < text.size()) {
    const bool exponent = text[at] == 'e' || text[at] == 'E';
    if (exponent && at + 1 < text.size() && (text[at + 1] == '-' || text[at + 1] == '+'))
      at += 2;
    else if (in_word(text[at]) || text[at] == '.')
      ++at;
    else
      break;
  }
  return at;
}

TokenKind kind_of_number(std::string_view number) {
  if (std::ranges::all_of(number, is_digit)) return TokenKind::integer;
  const bool single = number.back() == 'f' && !number.starts_with("0x");
  return single ? TokenKind::floating : TokenKind::other;
}

}  // namespace

std::vector<Token> tokens_of(std::string_view text) {
  std::vector<Token> out;
  bool begins_line = true;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == ' ' || c == '\n') {
      begins_line = begins_line || c == '\n';
      ++at;
      continue;
    }
    size_t end = at + 1;
    TokenKind kind = TokenKind::other;
    if (is_digit(c)) {
      end = end_of_number(text, at);
      kind = kind_of_number(text.substr(at, end - at));
    } else if (in_word(c)) {
      while (end < text.size() && in_word(text[end])) ++end;
      kind = TokenKind::word;
    }
    out.push_back({kind, text.substr(at, end - at), begins_line});
    begins_line = false;
    at = end;
  }
  return out;
}

}  // namespace cleave::emit
