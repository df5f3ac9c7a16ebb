#include "text/regex_sets.h"

#include <algorithm>
#include <array>
#include <utility>

namespace cleave::text {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 15> properties = {{
    {"letter", R"(\p{L})"},
    {"mark", R"(\p{M})"},
    {"number", R"(\p{N})"},
    {"punctuation", R"(\p{P})"},
    {"symbol", R"(\p{S})"},
    {"separator", R"(\p{Z})"},
    {"other", R"(\p{C})"},
    {"alpha", R"(\p{Alphabetic})"},
    {"alphabetic", R"(\p{Alphabetic})"},
    {"alnum", R"(\p{Alphabetic}\p{Nd})"},
    {"digit", R"(\p{Nd})"},
    {"lower", R"(\p{Lowercase})"},
    {"upper", R"(\p{Uppercase})"},
    {"space", white_space},
    {"whitespace", white_space},
}};

}  // namespace

std::optional<std::string_view> property_set(std::string_view name) {
  const auto found = std::ranges::find(properties, name, &decltype(properties)::value_type::first);
  if (found == properties.end()) return std::nullopt;
  return found->second;
}

}  // namespace cleave::text
