// Words, as tokenizers 0.23 makes them.
// tests: split_pre_tokenizer.cpp byte_level_pre_tokenizer.cpp metaspace.cpp words.cpp
#include "text/pre_tokenizer.h"

#include "test/text/reading.h"

namespace cleave::text {
namespace {

struct PreTokenizerCase {
  std::string_view json, text;
  std::vector<std::string> words;
};

const PreTokenizerCase pre_tokenizer_cases[] = {
    {R"({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true})",
     "I'll  be\n 42nd\u00e9!",
     {"I", "'ll", "\u0120", "\u0120be", "\u010a", "\u012042", "nd\u00c3\u00a9", "!"}},
    {R"({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, )"
     R"("use_regex": false})",
     "a b",
     {"\u0120a\u0120b"}},
    {R"({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, )"
     R"("use_regex": true})",
     " a",
     {"\u0120a"}},
    {R"({"type": "Whitespace"})",
     "a_1 b-\u00e9\u0301 ..,x\u200d \u24b6",
     {"a_1", "b", "-", "\u00e9\u0301", "..,", "x\u200d", "\u24b6"}},
    {R"({"type": "WhitespaceSplit"})", " a\u3000b\nc. ", {"a", "b", "c."}},
    {R"({"type": "BertPreTokenizer"})",
     "a,b (c) $5 \u2014d",
     {"a", ",", "b", "(", "c", ")", "$", "5", "\u2014", "d"}},
    {R"({"type": "Punctuation", "behavior": "Contiguous"})", "a!?b.", {"a", "!?", "b", "."}},
    {R"({"type": "Punctuation"})", "a!?b.", {"a", "!", "?", "b", "."}},
    {R"({"type": "Digits", "individual_digits": true})",
     "a12\u00bd b3",
     {"a", "1", "2", "\u00bd", " b", "3"}},
    {R"({"type": "Digits", "individual_digits": false})",
     "a12\u00bd b3",
     {"a", "12\u00bd", " b", "3"}},
    {R"({"type": "CharDelimiterSplit", "delimiter": "-"})", "-a--b-", {"a", "b"}},
    {R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", )"
     R"("split": true})",
     "a  b",
     {"\u2581a", "\u2581", "\u2581b"}},
    {R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never", )"
     R"("split": true})",
     "a b\u2581c",
     {"a", "\u2581b", "\u2581c"}},
    {R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", )"
     R"("split": false})",
     "a b",
     {"\u2581a\u2581b"}},
    {R"({"type": "Metaspace", "replacement": "_", "add_prefix_space": true})",
     " a b",
     {"_a", "_b"}},
    {R"({"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, )"
     R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", )"
     R"("split": true}]})",
     "a b",
     {"\u2581a", "b"}},
    {R"({"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, )"
     R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", )"
     R"("split": true}]})",
     "a b",
     {"\u2581a", "\u2581b"}},
    {R"({"type": "Split", "pattern": {"String": "-"}, "behavior": "Removed", )"
     R"("invert": false})",
     "a--b-c",
     {"a", "b", "c"}},
    {R"({"type": "Split", "pattern": {"String": "-"}, "behavior": "Isolated", )"
     R"("invert": false})",
     "a--b-c",
     {"a", "-", "-", "b", "-", "c"}},
    {R"({"type": "Split", "pattern": {"String": "-"}, "behavior": "MergedWithPrevious", )"
     R"("invert": false})",
     "a--b-c",
     {"a-", "-", "b-", "c"}},
    {R"({"type": "Split", "pattern": {"String": "-"}, "behavior": "MergedWithNext", )"
     R"("invert": false})",
     "a--b-c",
     {"a", "-", "-b", "-c"}},
    {R"({"type": "Split", "pattern": {"String": "-"}, "behavior": "Contiguous", )"
     R"("invert": false})",
     "a--b-c",
     {"a", "--", "b", "-", "c"}},
    {R"({"type": "Split", "pattern": {"Regex": "[0-9]+"}, "behavior": "Removed", )"
     R"("invert": true})",
     "a12b3",
     {"12", "3"}},
    {R"({"type": "Split", "pattern": {"Regex": "x*"}, "behavior": "Isolated", )"
     R"("invert": false})",
     "axxb",
     {"a", "xx", "b"}},
    {R"({"type": "Split", "pattern": {"Regex": "(?i:'s|'t)|\\s+(?!\\S)|\\S+"}, )"
     R"("behavior": "Isolated", "invert": false})",
     "It'S  so",
     {"It'S", " ", " ", "so"}},
};

std::vector<std::string> words_of(std::string_view json, std::string_view text, size_t initial) {
  const PreTokenizerPtr p = value_or_throw(test::read_json(json, read_pre_tokenizer));
  Words words{std::string(text), {{0, text.size()}}, initial};
  Allowance allowance = Allowance::of(text.size());
  value_or_throw(p->apply(words, allowance));
  std::vector<std::string> out;
  for (const Word w : words.words) out.emplace_back(words.view(w));
  return out;
}

TEST(PreTokenizer, as_the_python_package) {
  for (const PreTokenizerCase& c : pre_tokenizer_cases)
    EXPECT_EQ(words_of(c.json, c.text, 1), c.words) << c.json << " of " << c.text;
}

TEST(PreTokenizer, first_is_the_beginning_of_the_whole_text) {
  const char* json = R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "first"})";
  EXPECT_EQ(words_of(json, "a b", 1), (std::vector<std::string>{"_a", "_b"}));
  EXPECT_EQ(words_of(json, "a b", 0), (std::vector<std::string>{"a", "_b"}));
  EXPECT_EQ(words_of(R"({"type": "Sequence", "pretokenizers": [
      {"type": "ByteLevel", "add_prefix_space": true, "use_regex": true},
      {"type": "Metaspace", "replacement": "_", "prepend_scheme": "first"}]})",
                     "a\u00e9 b", 1),
            (std::vector<std::string>{"_\u0120a\u00c3\u00a9", "\u0120b"}));
}

TEST(PreTokenizer, mistakes) {
  const auto message = [](std::string_view json) {
    return test::read_json(json, read_pre_tokenizer).failure().message;
  };
  EXPECT_EQ(message(R"({"type": "UnicodeScripts"})"),
            "part: the type \"UnicodeScripts\" isn't covered");
  EXPECT_EQ(message(R"({"type": "CharDelimiterSplit", "delimiter": "ab"})"),
            "part.delimiter: expected one character");
  EXPECT_EQ(message(R"({"type": "Punctuation", "behavior": "Isolate"})"),
            "part.behavior: expected one of Removed, Isolated, MergedWithPrevious, MergedWithNext, "
            "Contiguous");
  EXPECT_EQ(message(R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "last"})"),
            "part.prepend_scheme: expected one of first, never, always");
  EXPECT_EQ(message(R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "first",
                        "add_prefix_space": false})"),
            "part.add_prefix_space: false contradicts the prepend_scheme first");
}

}  // namespace
}  // namespace cleave::text
