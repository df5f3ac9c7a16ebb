// C text in words, numbers and signs.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace cleave::emit {

enum class TokenKind : uint8_t {
  word,
  integer,   // of decimal digits alone
  floating,  // of float: it ends in f
  other,     // a sign of one character, or another number
};

struct Token {
  TokenKind kind = TokenKind::other;
  std::string_view text;
  bool begins_line = false;
};

std::vector<Token> tokens_of(std::string_view text);

}  // namespace cleave::emit
