// Tokens that are found in the text, as tokenizers 0.23 finds them.
#include "text/added_tokens.h"

#include "test/text/reading.h"

namespace cleave::text {
namespace {

using test::encoded;
using test::Ids;

constexpr std::string_view word_level =
    R"({"type": "WordLevel", "vocab": {"a": 0, "b": 1, "<unk>": 2, "<s>": 3},
        "unk_token": "<unk>"})";

TokenizerState with_added(std::string_view tokens, std::string_view normalizer = "null") {
  return value_or_throw(test::tokenizer_of(
      word_level, fmt::format(R"("pre_tokenizer": {{"type": "WhitespaceSplit"}}, "normalizer": {},
                     "added_tokens": [{}])",
                              normalizer, tokens)));
}

TEST(AddedTokens, the_longest_from_the_left) {
  const TokenizerState t = with_added(R"({"id": 4, "content": "<x>", "special": true},
      {"id": 5, "content": "<x>y", "special": true}, {"id": 6, "content": "a<", "special": true})");
  EXPECT_EQ(encoded(t, "a<x>y b"), (Ids{6, 2, 1}));
  EXPECT_EQ(encoded(t, "<x>b<x>"), (Ids{4, 1, 4}));
  EXPECT_EQ(encoded(t, "<x>y<x"), (Ids{5, 2}));
}

TEST(AddedTokens, white_space_beside_them) {
  const TokenizerState t = with_added(R"(
      {"id": 4, "content": "<l>", "lstrip": true, "special": true},
      {"id": 5, "content": "<r>", "rstrip": true, "special": true},
      {"id": 6, "content": "  ", "lstrip": true, "special": true})");
  EXPECT_EQ(encoded(t, "a <l> b"), (Ids{0, 4, 1}));
  EXPECT_EQ(encoded(t, " <r> <l> "), (Ids{5, 4}));
  EXPECT_EQ(encoded(t, "a <l><r> b"), (Ids{0, 4, 5, 1}));
  // What was taken as the white space of another isn't found again.
  EXPECT_EQ(encoded(t, "a<r>    b"), (Ids{0, 5, 1}));
}

TEST(AddedTokens, single_words) {
  const TokenizerState t =
      with_added(R"({"id": 4, "content": "mid", "single_word": true, "special": true})");
  EXPECT_EQ(encoded(t, "mid"), (Ids{4}));
  EXPECT_EQ(encoded(t, "a mid b"), (Ids{0, 4, 1}));
  EXPECT_EQ(encoded(t, "(mid)"), (Ids{2, 4, 2}));
  for (const char* text : {"amid", "mid_", "mid\u00e9", "\u00e9mid", "mid\u200d", "mid\u24b6"})
    EXPECT_EQ(encoded(t, text), (Ids{2})) << text;
}

TEST(AddedTokens, in_the_normalized_text) {
  const TokenizerState t = with_added(R"({"id": 4, "content": "Yes", "normalized": true},
      {"id": 5, "content": "No", "normalized": false})",
                                      R"({"type": "Lowercase"})");
  EXPECT_EQ(encoded(t, "YES a"), (Ids{4, 0}));
  EXPECT_EQ(encoded(t, "yes"), (Ids{4}));
  EXPECT_EQ(encoded(t, "NO"), (Ids{2}));
  EXPECT_EQ(encoded(t, "No b"), (Ids{5, 1}));
  EXPECT_EQ(t.token(4), "yes");
  EXPECT_EQ(t.id("Yes"), 4);
}

TEST(AddedTokens, ids_go_on_after_the_model) {
  const TokenizerState t = with_added(R"({"id": 3, "content": "<s>", "special": true},
      {"id": 90, "content": "<t>", "special": true}, {"id": 91, "content": ""})");
  EXPECT_EQ(encoded(t, "a<s>b<t>"), (Ids{0, 3, 1, 4}));
  EXPECT_EQ(t.vocabulary_size(), 5);
}

// A space is put before the first word of a text alone.
TEST(AddedTokens, after_one_a_text_has_no_beginning) {
  const TokenizerState t = value_or_throw(test::tokenizer_of(
      R"({"type": "WordLevel", "vocab": {"_a": 0, "a": 1, "<unk>": 2}, "unk_token": "<unk>"})",
      R"("pre_tokenizer": {"type": "Metaspace", "replacement": "_", "prepend_scheme": "first"},
         "added_tokens": [{"id": 3, "content": "<x>", "special": true}])"));
  EXPECT_EQ(encoded(t, "a"), (Ids{0}));
  EXPECT_EQ(encoded(t, "a<x>a"), (Ids{0, 3, 1}));
  EXPECT_EQ(encoded(t, "<x>a"), (Ids{3, 1}));
}

TEST(AddedTokens, long_ones_are_refused) {
  const auto t = test::tokenizer_of(
      word_level, fmt::format(R"("added_tokens": [{{"content": "{}"}}])", std::string(1025, 'x')));
  ASSERT_FALSE(t.ok());
  EXPECT_EQ(t.failure().kind, ErrorKind::unsupported);
}

}  // namespace
}  // namespace cleave::text
