// Sets of code points, as they stand inside the brackets of PCRE2's expressions.
#pragma once
#include <optional>
#include <string_view>

namespace cleave::text {

// \w inside brackets, and the six digits of Latin-1 that it is outside of them too.
inline constexpr std::string_view word = R"(a-zA-Z0-9_\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";
inline constexpr std::string_view word_digits = R"(\x{b2}\x{b3}\x{b9}\x{bc}-\x{be})";
// White_Space; a range is last, so that a hyphen may follow.
inline constexpr std::string_view white_space =
    R"(\t-\r \x{85}\x{a0}\x{1680}\x{202f}\x{205f}\x{3000}\x{2028}\x{2029}\x{2000}-\x{200a})";

// Of a property of Oniguruma or a class of POSIX that has no name of two letters, such as "letter"
// or "alpha": in lower case, without underscores. Nothing where it is none; scripts aren't here.
std::optional<std::string_view> property_set(std::string_view name);

}  // namespace cleave::text
