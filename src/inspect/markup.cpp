#include "inspect/markup.h"

#include <cstdint>

namespace cleave {
namespace {

// The length of the character that begins the text; 0 if that isn't UTF-8.
size_t character_length(std::string_view text) {
  const auto byte = [&](size_t k) { return static_cast<unsigned char>(text[k]); };
  const size_t length = byte(0) < 0x80           ? 1
                        : (byte(0) >> 5) == 0x06 ? 2
                        : (byte(0) >> 4) == 0x0e ? 3
                        : (byte(0) >> 3) == 0x1e ? 4
                                                 : 0;
  if (length == 0 || length > text.size()) return 0;
  uint32_t code = length == 1 ? byte(0) : byte(0) & (0x7fu >> length);
  for (size_t k = 1; k < length; ++k) {
    if ((byte(k) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(k) & 0x3fu);
  }
  constexpr uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  return code < least[length] || code > 0x10ffff || is_surrogate ? 0 : length;
}

// The controls between U+0080 and U+009F.
bool is_late_control(std::string_view character) {
  return character.size() == 2 && character[0] == '\xc2' &&
         static_cast<unsigned char>(character[1]) < 0xa0;
}

}  // namespace

std::string markup_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t k = 0; k < text.size();) {
    const size_t length = character_length(text.substr(k));
    const std::string_view character = text.substr(k, length == 0 ? 1 : length);
    k += character.size();
    if (length == 0) {
      out += '?';
      continue;
    }
    const auto first = static_cast<unsigned char>(character[0]);
    if (first < 0x20 || first == 0x7f || is_late_control(character)) {
      out += ' ';
      continue;
    }
    switch (character[0]) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += character;
    }
  }
  return out;
}

}  // namespace cleave
