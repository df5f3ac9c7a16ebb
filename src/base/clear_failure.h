// What is said of a file from outside: fit for a terminal, whatever names the file holds.
#pragma once
#include "base/result.h"

namespace cleave {

// The same failure with control bytes, but for the ends of lines, as \xNN, cut after 8 KiB.
inline Failure clear_failure(Failure f) {
  constexpr size_t most = 8192;
  std::string text;
  for (const char c : f.message) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n') || byte == 0x7f)
      text += fmt::format("\\x{:02x}", byte);
    else
      text += c;
    if (text.size() > most) {
      text += "...";
      break;
    }
  }
  f.message = std::move(text);
  return f;
}

}  // namespace cleave
