// How often a text contains another, one behind the other.
#pragma once
#include <string>

namespace cleave::test {

inline size_t times_in(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++n;
  return n;
}

}  // namespace cleave::test
