// The names of some things, for messages.
#pragma once
#include <fmt/format.h>

#include <string>
#include <vector>

namespace cleave::standalone {

// The first, and how many there are beside it.
inline std::string some_of(const std::vector<std::string>& names) {
  std::string out = fmt::format("`{}`", names.front());
  if (names.size() > 1) out += fmt::format(" and {} more", names.size() - 1);
  return out;
}

}  // namespace cleave::standalone
