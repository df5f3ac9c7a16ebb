// Splits C text into words, numbers and punctuation.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace cleave::emit {

enum class TokenKind : uint8_t {
  word,
  integer,   // decimal digits only
  floating,  // a float literal: ends in f
  other,     // a single character, or another number
};

struct Token {
  TokenKind kind = TokenKind::other;
  std::string_view text;
  bool begins_line = false;
};

std::vector<Token> tokens_of(std::string_view text);

}  // namespace cleave::emit
