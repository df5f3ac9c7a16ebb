// Code points, their classes, and bytes that aren't UTF-8.
#include "text/unicode.h"

#include <gtest/gtest.h>

namespace cleave::text {
namespace {

TEST(Unicode, every_code_point_comes_back) {
  std::string text;
  for (char32_t c = 0; c < 0x110000; ++c)
    if (c < 0xd800 || c > 0xdfff) append(text, c);
  EXPECT_TRUE(is_valid(text));
  char32_t next = 0;
  for_each_code_point(text, [&](char32_t c, size_t, size_t) {
    if (next == 0xd800) next = 0xe000;
    EXPECT_EQ(c, next++);
  });
  EXPECT_EQ(count_code_points(text), 0x110000u - 0x800u);
  EXPECT_EQ(first_invalid(text), text.size());
}

TEST(Unicode, bytes_that_are_none) {
  const struct {
    std::string_view bytes;
    size_t place;
    std::string_view replaced;
  } cases[] = {{"a\xff", 1, "a\ufffd"},
               {"\xc3", 0, "\ufffd"},
               {"a\xe4\xb8", 1, "a\ufffd"},
               {"\xe4\xb8x", 0, "\ufffdx"},
               {"\xc0\x80", 0, "\ufffd\ufffd"},
               {"\xed\xa0\x80", 0, "\ufffd\ufffd\ufffd"},
               {"\xf4\x90\x80\x80", 0, "\ufffd\ufffd\ufffd\ufffd"},
               {"\xf0\x9f\x98", 0, "\ufffd"},
               {"\xe0\x9f\x80", 0, "\ufffd\ufffd\ufffd"},
               {"\xf0\x8f\x80\x80", 0, "\ufffd\ufffd\ufffd\ufffd"},
               {"\x80z\xc3\xa9", 0, "\ufffdz\u00e9"}};
  for (const auto& c : cases) {
    EXPECT_FALSE(is_valid(c.bytes));
    EXPECT_EQ(first_invalid(c.bytes), c.place);
    EXPECT_EQ(with_replacements(c.bytes), c.replaced);
  }
  EXPECT_EQ(with_replacements("\u00e9"), "\u00e9");
}

TEST(Unicode, classes) {
  EXPECT_TRUE(is_white_space(0x85) && is_white_space(0x3000) && !is_white_space(0x200b));
  EXPECT_TRUE(!is_white_space(0x1c) && !is_white_space(0x180e));
  EXPECT_TRUE(is_punctuation('$') && is_punctuation(0x3002) && !is_punctuation(0x20ac));
  EXPECT_TRUE(!is_punctuation(0x2e52));  // since Unicode 14, which the peers don't know
  EXPECT_TRUE(is_control(1) && is_control(0xad) && is_control(0xe000) && !is_control(0x378));
  EXPECT_TRUE(is_nonspacing_mark(0x301) && !is_nonspacing_mark(0x903) && is_combining_mark(0x903));
  EXPECT_TRUE(is_combining_mark(0x20dd) && !is_combining_mark('a'));
  EXPECT_TRUE(is_numeric(0xbd) && is_numeric(0x2160) && !is_numeric('a'));
  EXPECT_TRUE(is_word_character(0x200d) && is_word_character(0x24b6) && is_word_character(0x301));
  EXPECT_TRUE(!is_word_character(0xb2) && !is_word_character(0x20dd + 0x100));
}

TEST(Unicode, normal_forms) {
  const auto made = [](std::string_view text, Normalization form) {
    std::string out;
    value_or_throw(append_normalized(out, text, form));
    return out;
  };
  EXPECT_EQ(made("e\u0301", Normalization::nfc), "\u00e9");
  EXPECT_EQ(made("\u00e9", Normalization::nfd), "e\u0301");
  EXPECT_EQ(made("\ufb01\u00e9", Normalization::nfkc), "fi\u00e9");
  EXPECT_EQ(made("\ufb01\u00e9", Normalization::nfkd), "fie\u0301");
  EXPECT_EQ(made(std::string_view("a\0\u00e9", 4), Normalization::nfd),
            std::string("a\0e\u0301", 5));
}

TEST(Unicode, grapheme_clusters) {
  const std::string text = "e\u0301\r\n\U0001f468\u200d\U0001f469x";
  std::vector<size_t> ends;
  for (size_t at = 0; at < text.size();) ends.push_back(at = grapheme_end(text, at));
  EXPECT_EQ(ends, (std::vector<size_t>{3, 5, 16, 17}));
}

}  // namespace
}  // namespace cleave::text
