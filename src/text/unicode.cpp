#include "text/unicode.h"

#include <simdjson.h>
#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "text/newer_code_points.h"

namespace cleave::text {
namespace {

utf8proc_category_t category(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

template <class Ranges>
bool within(const Ranges& ranges, char32_t c) {
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), c,
                       [](char32_t x, const CodePointRange& r) { return x < r.first; });
  return after != ranges.begin() && c <= std::prev(after)->last;
}

// Of the code point that begins at bytes[at]: its length, or that of what is there of it, negative.
int sequence_length(std::string_view bytes, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(bytes[at + i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const int length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (length == 0) return -1;
  const uint8_t least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const uint8_t most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  for (int i = 1; i < length; ++i) {
    if (at + static_cast<size_t>(i) >= bytes.size()) return -i;
    const uint8_t b = byte(static_cast<size_t>(i));
    if (b < (i == 1 ? least : 0x80) || b > (i == 1 ? most : 0xbf)) return -i;
  }
  return length;
}

}  // namespace

void append(std::string& text, char32_t c) {
  utf8proc_uint8_t bytes[4];
  const auto length = utf8proc_encode_char(static_cast<utf8proc_int32_t>(c), bytes);
  text.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(length));
}

size_t count_code_points(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<uint8_t>(c) & 0xc0) != 0x80; }));
}

size_t last_code_point(std::string_view text) {
  size_t at = text.size() - 1;
  while ((static_cast<uint8_t>(text[at]) & 0xc0) == 0x80) --at;
  return at;
}

bool is_valid(std::string_view bytes) {
  return simdjson::validate_utf8(bytes.data(), bytes.size());
}

size_t first_invalid(std::string_view bytes) {
  size_t at = 0;
  while (at < bytes.size()) {
    const int length = sequence_length(bytes, at);
    if (length < 0) break;
    at += static_cast<size_t>(length);
  }
  return at;
}

std::string with_replacements(std::string_view bytes) {
  if (is_valid(bytes)) return std::string(bytes);
  std::string text;
  for (size_t at = 0; at < bytes.size();) {
    const int length = sequence_length(bytes, at);
    if (length > 0)
      text.append(bytes, at, static_cast<size_t>(length));
    else
      append(text, 0xfffd);
    at += static_cast<size_t>(std::abs(length));
  }
  return text;
}

bool is_white_space(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= '\t' && c <= '\r');
  return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 ||
         c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

bool is_word_character(char32_t c) {
  if (c < 0x80)
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  const auto k = category(c);
  // Letters, marks, digits, numbers that are letters, connectors.
  if (k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_NL) return true;
  if (k == UTF8PROC_CATEGORY_PC || c == 0x200c || c == 0x200d) return true;
  // Symbols that are letters: those in circles and squares.
  return (c >= 0x24b6 && c <= 0x24e9) || (c >= 0x1f130 && c <= 0x1f149) ||
         (c >= 0x1f150 && c <= 0x1f169) || (c >= 0x1f170 && c <= 0x1f189);
}

bool is_numeric(char32_t c) {
  if (c < 0x80) return c >= '0' && c <= '9';
  const auto k = category(c);
  return k >= UTF8PROC_CATEGORY_ND && k <= UTF8PROC_CATEGORY_NO;
}

bool is_punctuation(char32_t c) {
  if (c < 0x80)
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
           (c >= '{' && c <= '~');
  const auto k = category(c);
  if (k >= UTF8PROC_CATEGORY_PC && k <= UTF8PROC_CATEGORY_PO) return !within(newer_than_bert, c);
  return c == 0x166d || c == 0x111c9;  // P when the tables were made
}

bool is_control(char32_t c) {
  const auto k = category(c);
  return (k == UTF8PROC_CATEGORY_CC || k == UTF8PROC_CATEGORY_CF || k == UTF8PROC_CATEGORY_CO) &&
         !within(newer_than_bert, c);
}

bool is_nonspacing_mark(char32_t c) {
  if (c == 0x1734) return true;  // Mn when the tables were made
  return category(c) == UTF8PROC_CATEGORY_MN && !within(newer_than_bert, c);
}

bool is_combining_mark(char32_t c) {
  if (c == 0x1cf2 || c == 0x1cf3) return true;  // M when the tables were made
  const auto k = category(c);
  return k >= UTF8PROC_CATEGORY_MN && k <= UTF8PROC_CATEGORY_ME &&
         !within(newer_than_strip_accents, c);
}

void append_lower(std::string& text, char32_t c) {
  if (c < 0x80) {
    text += static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
  } else if (c == 0x130) {  // the one with two code points
    append(text, 'i');
    append(text, 0x307);
  } else {
    append(text, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
  }
}

Status append_normalized(std::string& out, std::string_view text, Normalization form) {
  if (std::ranges::all_of(text, [](char c) { return static_cast<uint8_t>(c) < 0x80; })) {
    out += text;
    return {};
  }
  const bool composed = form == Normalization::nfc || form == Normalization::nfkc;
  const bool compatible = form == Normalization::nfkc || form == Normalization::nfkd;
  const int options = UTF8PROC_STABLE | (composed ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) |
                      (compatible ? UTF8PROC_COMPAT : 0);
  utf8proc_uint8_t* made = nullptr;
  const auto length = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                   static_cast<utf8proc_ssize_t>(text.size()), &made,
                                   static_cast<utf8proc_option_t>(options));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owned(made, &std::free);
  if (length < 0)  // the text is UTF-8, so that memory alone can be missing
    return user_error("no memory for the normal form of {} bytes", text.size());
  out.append(reinterpret_cast<const char*>(made), static_cast<size_t>(length));
  return {};
}

size_t grapheme_end(std::string_view text, size_t at) {
  CodePoint c = code_point_at(text, at);
  utf8proc_int32_t state = 0;
  for (at += c.bytes; at < text.size(); at += c.bytes) {
    const auto before = static_cast<utf8proc_int32_t>(c.value);
    c = code_point_at(text, at);
    if (utf8proc_grapheme_break_stateful(before, static_cast<utf8proc_int32_t>(c.value), &state))
      break;
  }
  return at;
}

}  // namespace cleave::text
