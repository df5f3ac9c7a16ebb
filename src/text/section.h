// A text on its way to tokens, and what its steps may take.
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"
#include "text/regex.h"

namespace cleave::text {

// What one call of encode() or decode() may take. Steps of a file may replace a byte by many, one
// after the other; a text that has grown beyond `most_bytes` is an error.
struct Allowance {
  RegexBudget regex;
  size_t most_bytes = 0;

  // Of a text of `bytes`: 64 times as many, and a mebibyte.
  static Allowance of(size_t bytes) {
    return {.regex = {100'000'000 + 64 * bytes}, .most_bytes = 64 * bytes + (1 << 20)};
  }
  Status check(size_t bytes) const {
    if (bytes <= most_bytes) return {};
    return user_error("the tokenizer's steps make more than {} bytes of this text", most_bytes);
  }
};

// The part of a text between two added tokens.
struct Section {
  std::string text;
  // This many bytes, from the first on, stand for the very beginning of what encode() was given: 0
  // where an added token or something that was stripped came before. Metaspace asks for it.
  size_t initial = 0;
};

}  // namespace cleave::text
