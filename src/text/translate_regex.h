// Regular expressions of tokenizer.json, which are Oniguruma's (Ruby's syntax over UTF-8), as
// PCRE2's with the same matches.
//
//   \s \S              White_Space, which PCRE2's \s isn't quite
//   \w \W              Alphabetic, M, Nd, Pc and six digits of Latin-1
//   \p{Letter} {Han}   PCRE2's \p{L} \p{sc:Han}
//   [[:alpha:]]        Alphabetic, and so for alnum, digit, lower, space, upper
//   {,3} \u00e9        {0,3} \x{00e9}
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"

namespace cleave::text {

// Errors: (unsupported) sets in sets and their intersections, \b, \h, names and calls of groups, the
// option x, and the like, by name; (user) a pattern that ends too early.
Result<std::string> translate_regex(std::string_view pattern);

// For messages: between slashes, controls as \xNN, cut after 100 bytes.
std::string shown_pattern(std::string_view pattern);

// White_Space, inside brackets; a range is last, so that a hyphen may follow.
inline constexpr std::string_view white_space =
    R"(\t-\r \x{85}\x{a0}\x{1680}\x{202f}\x{205f}\x{3000}\x{2028}\x{2029}\x{2000}-\x{200a})";

}  // namespace cleave::text
