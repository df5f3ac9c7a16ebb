// Normalized texts, as tokenizers 0.23 makes them.
// tests: replace_normalizer.cpp bert_normalizer.cpp
#include "text/normalizer.h"

#include "test/text/reading.h"

namespace cleave::text {
namespace {

struct NormalizerCase {
  std::string_view json, text, normalized;
};

const NormalizerCase normalizer_cases[] = {
    {R"({"type": "NFC"})", "e\u0301x\u0308\u0323", "\u00e9\u1e8d\u0323"},
    {R"({"type": "NFD"})", "\u00e9\u1e69\uac01", "e\u0301s\u0323\u0307\u1100\u1161\u11a8"},
    {R"({"type": "NFKC"})", "\ufb01\u2460\u00bd\uff21", "fi11\u20442A"},
    {R"({"type": "NFKD"})", "\ufb01\u00e9\u3392", "fie\u0301MHz"},
    {R"({"type": "Lowercase"})", "ABC\u00c9\u0130\u03a3\u1e9e\u24b6",
     "abc\u00e9i\u0307\u03c3\u00df\u24d0"},
    {R"({"type": "StripAccents"})", "e\u0301\u00e9 \u0915\u094d", "e\u00e9 \u0915"},
    {R"({"type": "Strip", "strip_left": true, "strip_right": true})", " \t\u00a0a b\u3000\n",
     "a b"},
    {R"({"type": "Strip", "strip_left": true, "strip_right": false})", "  a  ", "a  "},
    {R"({"type": "Strip", "strip_left": false, "strip_right": true})", "  a  ", "  a"},
    {R"({"type": "Strip", "strip_left": true, "strip_right": true})", " \n ", ""},
    {R"({"type": "Prepend", "prepend": "▁"})", "a b", "\u2581a b"},
    {R"({"type": "Prepend", "prepend": "▁"})", "", ""},
    {R"({"type": "Replace", "pattern": {"String": " "}, "content": "▁"})", " a  b",
     "\u2581a\u2581\u2581b"},
    {R"({"type": "Replace", "pattern": {"String": "aa"}, "content": "b"})", "aaaaa", "bba"},
    {R"({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "})", "a    b  c d",
     "a b c d"},
    {R"({"type": "Replace", "pattern": {"Regex": "x*"}, "content": "-"})", "axxb", "-a-b-"},
    {R"({"type": "Replace", "pattern": {"Regex": "x"}, "content": "-"})", "", ""},
    {R"({"type": "Nmt"})", "a\tb\u200bc\ufeffd\001e\u2581f", "a b c de f"},
    {R"({"type": "ByteLevel"})", "a \u00e9\n", "a\u0120\u00c3\u00a9\u010a"},
    {R"({"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, )"
     R"("strip_accents": null, "lowercase": true})",
     "H\u00c9 \u4e2d\u6587a\t\001b\ufffd\u00adc", "he  \u4e2d  \u6587 a bc"},
    {R"({"type": "BertNormalizer", "clean_text": false, "handle_chinese_chars": false, )"
     R"("strip_accents": true, "lowercase": false})",
     "H\u00c9 \u4e2d\t\001", "HE \u4e2d\t\001"},
    {R"({"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": false, )"
     R"("strip_accents": false, "lowercase": true})",
     "H\u00c9\u00a0\u3000x\u2028y", "h\u00e9  x y"},
    {R"({"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"}, )"
     R"({"type": "Lowercase"}]})",
     "\u00c0\u00c9", "ae"},
    {R"({"type": "Sequence", "normalizers": []})", "A", "A"},
};

std::string normalized(std::string_view json, std::string_view text) {
  const NormalizerPtr n = value_or_throw(test::read_json(json, read_normalizer));
  Section s{std::string(text), 0};
  Allowance allowance = Allowance::of(text.size());
  value_or_throw(n->apply(s, allowance));
  return s.text;
}

TEST(Normalizer, as_the_python_package) {
  for (const NormalizerCase& c : normalizer_cases)
    EXPECT_EQ(normalized(c.json, c.text), c.normalized) << c.json << " of " << c.text;
}

// Of " ab", whose first byte stands for the beginning: what still does.
size_t initial_after(std::string_view json) {
  const NormalizerPtr n = value_or_throw(test::read_json(json, read_normalizer));
  Section s{" ab", 1};
  Allowance allowance = Allowance::of(3);
  value_or_throw(n->apply(s, allowance));
  return s.initial;
}

TEST(Normalizer, the_beginning_is_known) {
  EXPECT_EQ(initial_after(R"({"type": "Lowercase"})"), 1);
  EXPECT_EQ(initial_after(R"({"type": "NFC"})"), 1);
  EXPECT_EQ(initial_after(R"({"type": "ByteLevel"})"), 2);
  EXPECT_EQ(initial_after(R"({"type": "Prepend", "prepend": "xy"})"), 3);
  EXPECT_EQ(initial_after(R"({"type": "Strip", "strip_left": true, "strip_right": true})"), 0);
  EXPECT_EQ(
      initial_after(R"({"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"})"), 3);
  EXPECT_EQ(initial_after(R"({"type": "Replace", "pattern": {"String": " a"}, "content": "x"})"),
            0);
}

TEST(Normalizer, texts_that_grow_without_end_are_refused) {
  std::string steps = R"({"type": "Replace", "pattern": {"String": "a"}, "content": "aaaaaaaa"})";
  for (int i = 0; i < 4; ++i) steps += ", " + steps;
  const NormalizerPtr n = value_or_throw(
      test::read_json(R"({"type": "Sequence", "normalizers": [)" + steps + "]}", read_normalizer));
  Section s{"aaaa", 1};
  Allowance allowance = Allowance::of(4);
  const Status status = n->apply(s, allowance);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.failure().message,
            "the tokenizer's steps make more than 1048832 bytes of this text");
  EXPECT_LT(s.text.size(), 20'000'000u);
}

TEST(Normalizer, one_step_may_not_grow_without_end_either) {
  const NormalizerPtr n = value_or_throw(
      test::read_json(R"({"type": "Replace", "pattern": {"String": "a"}, "content": ")" +
                          std::string(10'000, 'x') + R"("})",
                      read_normalizer));
  Section s{std::string(10'000, 'a'), 1};
  Allowance allowance = Allowance::of(10'000);
  EXPECT_FALSE(n->apply(s, allowance).ok());
  EXPECT_EQ(s.text.size(), 10'000u);
}

TEST(Normalizer, mistakes) {
  const auto message = [](std::string_view json) {
    return test::read_json(json, read_normalizer).failure().message;
  };
  EXPECT_EQ(message(R"({"type": "Reverse"})"), "part: the type \"Reverse\" isn't covered");
  EXPECT_EQ(message(R"({})"), "part: \"type\" is missing");
  EXPECT_EQ(message(R"({"type": "Sequence", "normalizers": [{"type": "NFC"}, 7]})"),
            "part.normalizers[1]: expected an object");
  EXPECT_EQ(message(R"({"type": "Strip", "strip_left": 1, "strip_right": true})"),
            "part.strip_left: expected true or false");
  EXPECT_EQ(message(R"({"type": "Replace", "pattern": {"String": ""}, "content": "x"})"),
            "part.pattern: an empty text as a pattern isn't covered");
}

}  // namespace
}  // namespace cleave::text
