// Arguments of the generators' programs.
#pragma once
#include <charconv>
#include <cstring>

#include "base/result.h"

namespace cleave::random {

// Throws (user) where `text` is no number; `what` names the argument.
inline uint64_t number(const char* text, const char* what) {
  uint64_t value = 0;
  const char* end = text + std::strlen(text);
  if (auto [p, e] = std::from_chars(text, end, value); e != std::errc() || p != end)
    throw_failure(user_error("{} is '{}', expected a number", what, text));
  return value;
}

}  // namespace cleave::random
