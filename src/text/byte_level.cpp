#include "text/byte_level.h"

#include <array>

#include "text/unicode.h"

namespace cleave::text {
namespace {

// Bytes that are seen stand for themselves, the others for U+0100 and those after it, in order.
constexpr std::array<char16_t, 256> character_of_byte = [] {
  std::array<char16_t, 256> table{};
  char16_t next = 0x100;
  for (unsigned b = 0; b < 256; ++b) {
    const bool is_seen = (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
    table[b] = is_seen ? static_cast<char16_t>(b) : next++;
  }
  return table;
}();

constexpr std::array<int16_t, 0x144> byte_of_character = [] {
  std::array<int16_t, 0x144> table{};
  table.fill(-1);
  for (unsigned b = 0; b < 256; ++b) table[character_of_byte[b]] = static_cast<int16_t>(b);
  return table;
}();

}  // namespace

void append_byte_level(std::string& out, std::string_view bytes) {
  for (const char byte : bytes) {
    const char16_t c = character_of_byte[static_cast<uint8_t>(byte)];
    if (c < 0x80) {
      out += static_cast<char>(c);
    } else {
      out += static_cast<char>(0xc0 | c >> 6);
      out += static_cast<char>(0x80 | (c & 0x3f));
    }
  }
}

bool append_bytes(std::string& out, std::string_view characters) {
  const size_t before = out.size();
  for (size_t at = 0; at < characters.size();) {
    const CodePoint c = code_point_at(characters, at);
    const int byte = c.value < byte_of_character.size() ? byte_of_character[c.value] : -1;
    if (byte < 0) {
      out.resize(before);
      return false;
    }
    out += static_cast<char>(byte);
    at += c.bytes;
  }
  return true;
}

}  // namespace cleave::text
