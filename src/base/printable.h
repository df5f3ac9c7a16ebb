// Names of files from outside, safe to print.
#pragma once
#include <fmt/format.h>

#include <string>
#include <string_view>

namespace cleave {

// In quotes: control bytes, quotes and backslashes as \xNN, cut after 100 bytes.
inline std::string printable(std::string_view name) {
  std::string text = "\"";
  for (const char c : name.substr(0, 100)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f || c == '"' || c == '\\')
      text += fmt::format("\\x{:02x}", byte);
    else
      text += c;
  }
  return text + (name.size() > 100 ? "...\"" : "\"");
}

}  // namespace cleave
