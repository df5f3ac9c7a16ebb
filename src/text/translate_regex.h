// Regular expressions of tokenizer.json, which are Oniguruma's (Ruby's syntax over UTF-8), as
// PCRE2's with the same matches.
//
//   \s \S              White_Space, which PCRE2's \s isn't quite
//   \w \W              Alphabetic, M, Nd, Pc; outside brackets six digits of Latin-1 too
//   \p{Letter} {Han}   PCRE2's \p{L} \p{sc:Han}
//   [[:alpha:]]        Alphabetic, and so for alnum, digit, lower, space, upper
//   {,3} \u00e9        {0,3} \x{00e9}
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"

namespace cleave::text {

// Errors: (unsupported) sets in sets and their intersections, \b, \h, names and calls of groups,
// the option x, and the like, by name; (user) a pattern that ends too early.
Result<std::string> translate_regex(std::string_view pattern);

// For messages: between slashes, controls as \xNN, cut after 100 bytes.
std::string shown_pattern(std::string_view pattern);

}  // namespace cleave::text
