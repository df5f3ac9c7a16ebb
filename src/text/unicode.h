// Code points of UTF-8, and their classes as Hugging Face's tokenizers see them.
//
// Texts are valid UTF-8 here: what a user or a file gives is checked where it comes in.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cleave::text {

struct CodePoint {
  char32_t value;
  uint32_t bytes;
};

// Precondition: a code point begins at text[at].
inline CodePoint code_point_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[at + i]); };
  const char32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  if (first < 0xe0) return {(first & 0x1f) << 6 | (byte(1) & 0x3fu), 2};
  if (first < 0xf0) return {(first & 0xf) << 12 | (byte(1) & 0x3fu) << 6 | (byte(2) & 0x3fu), 3};
  return {(first & 7) << 18 | (byte(1) & 0x3fu) << 12 | (byte(2) & 0x3fu) << 6 | (byte(3) & 0x3fu),
          4};
}

// Calls f(code point, first byte, bytes) for each.
template <class F>
void for_each_code_point(std::string_view text, F&& f) {
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    f(c.value, at, static_cast<size_t>(c.bytes));
    at += c.bytes;
  }
}

void append(std::string& text, char32_t c);
size_t count_code_points(std::string_view text);
// The first byte of the last code point. Precondition: text isn't empty.
size_t last_code_point(std::string_view text);

bool is_valid(std::string_view bytes);
// Of the first byte that isn't UTF-8. Precondition: !is_valid(bytes).
size_t first_invalid(std::string_view bytes);
// With U+FFFD in the place of each longest prefix of a code point that isn't whole, and of each
// other byte that is none.
std::string with_replacements(std::string_view bytes);

bool is_white_space(char32_t c);      // White_Space
bool is_word_character(char32_t c);   // Alphabetic, M, Nd, Pc, Join_Control
bool is_numeric(char32_t c);          // N
bool is_punctuation(char32_t c);      // P, and ASCII's symbols
bool is_control(char32_t c);          // Cc, Cf, Co
bool is_nonspacing_mark(char32_t c);  // Mn
bool is_combining_mark(char32_t c);   // M
void append_lower(std::string& text, char32_t c);

enum class Normalization : uint8_t { nfc, nfd, nfkc, nfkd };
// Appends the normal form. Error (user): there is no memory for it.
Status append_normalized(std::string& out, std::string_view text, Normalization form);
// The byte after the grapheme cluster that begins at text[at]. Precondition: at < text.size().
size_t grapheme_end(std::string_view text, size_t at);

}  // namespace cleave::text
