// Ids of words by each model, as tokenizers 0.23 gives them.
// tests: bpe_model.cpp merge_table.cpp word_piece_model.cpp unigram_model.cpp word_level_model.cpp
// tests: vocabulary.cpp
#include "text/model.h"

#include "test/text/reading.h"

namespace cleave::text {
namespace {

using test::encoded;
using test::Ids;
using test::tokenizer_of;

struct ModelCase {
  std::string_view name, json;
  std::vector<std::pair<std::string_view, Ids>> texts;
};

const ModelCase model_cases[] = {
    {"bpe, merges by rank, then from the left",
     R"({"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4, "abc": 5, )"
     R"("aa": 6, "aaa": 7, "<unk>": 8, "cab": 9}, "merges": [["b", "c"], ["a", "b"], ["ab", )"
     R"("c"], ["a", "a"], ["aa", "a"]]})",
     {{"abc", {0, 4}},
      {"ab", {3}},
      {"aaaaa", {6, 7}},
      {"aaa", {7}},
      {"aabc", {6, 4}},
      {"cab", {2, 3}},
      {"", {}},
      {"axb", {3}}}},
    {"a merge whose right part has merged since",
     R"({"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4, "abc": 5}, )"
     R"("merges": [["b", "c"], ["a", "b"], ["a", "bc"]]})",
     {{"abc", {5}}, {"abab", {3, 3}}}},
    {"merges as texts",
     R"({"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4, "abc": 5, )"
     R"("aa": 6, "aaa": 7, "<unk>": 8, "cab": 9}, "merges": ["#version: 0.2", "a b", "ab c"]})",
     {{"abcab", {5, 3}}}},
    {"ignore_merges",
     R"({"type": "BPE", "ignore_merges": true, "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, )"
     R"("bc": 4, "abc": 5, "aa": 6, "aaa": 7, "<unk>": 8, "cab": 9}, "merges": [["a", "b"]]})",
     {{"abc", {5}}, {"cab", {9}}, {"abcc", {3, 2, 2}}}},
    {"unknown, not fused",
     R"({"type": "BPE", "unk_token": "<unk>", "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, )"
     R"("bc": 4, "abc": 5, "aa": 6, "aaa": 7, "<unk>": 8, "cab": 9}, "merges": [["b", "c"], )"
     R"(["a", "b"], ["ab", "c"], ["a", "a"], ["aa", "a"]]})",
     {{"xyab", {8, 8, 3}}, {"axyb", {0, 8, 8, 1}}}},
    {"unknown, fused",
     R"({"type": "BPE", "unk_token": "<unk>", "fuse_unk": true, "vocab": {"a": 0, "b": 1, )"
     R"("c": 2, "ab": 3, "bc": 4, "abc": 5, "aa": 6, "aaa": 7, "<unk>": 8, "cab": 9}, )"
     R"("merges": [["b", "c"], ["a", "b"], ["ab", "c"], ["a", "a"], ["aa", "a"]]})",
     {{"xyab", {8, 3}}, {"axyb", {0, 8, 1}}, {"x", {8}}}},
    {"byte_fallback",
     R"({"type": "BPE", "unk_token": "<unk>", "fuse_unk": true, "byte_fallback": true, )"
     R"("vocab": {"a": 0, "<0xC3>": 1, "<0xA9>": 2, "<unk>": 3, "<0x78>": 4}, "merges": []})",
     {{"a\u00e9", {0, 1, 2}},
      {"xyx", {4, 4, 3}},
      {"yxa", {4, 3, 0}},
      {"y\u00e9y", {1, 2, 3}},
      {"\u4e2d", {3}}}},
    {"prefix and suffix",
     R"({"type": "BPE", "unk_token": "<unk>", "continuing_subword_prefix": "##", )"
     R"("end_of_word_suffix": "</w>", "vocab": {"a": 0, "##b": 1, "##b</w>": 2, "ab</w>": 3, )"
     R"("ab": 4, "a</w>": 5, "<unk>": 6, "##ab": 7, "##a": 8}, "merges": [["a", "##b</w>"], )"
     R"(["a", "##b"]]})",
     {{"ab", {3}}, {"abb", {4, 2}}, {"a", {5}}, {"b", {6}}, {"aab", {0, 8, 2}}}},
    {"wordpiece",
     R"({"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", )"
     R"("max_input_chars_per_word": 6, "vocab": {"[UNK]": 0, "a": 1, "ab": 2, "##b": 3, )"
     R"("##bc": 4, "##c": 5, "é": 6, "##ét": 7}})",
     {{"abbc", {2, 4}},
      {"abc", {2, 5}},
      {"ax", {0}},
      {"\u00e9\u00e9t", {6, 7}},
      {"abcabcc", {0}},
      {"abcbcb", {2, 5, 4, 3}},
      {"", {}}}},
    {"unigram",
     R"({"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -2.0], ["b", -2.5], )"
     R"(["ab", -4.0], ["abb", -6.4], ["é", -3.0], ["bb", -4.9]]})",
     {{"ab", {3}},
      {"abb", {4}},
      {"abbb", {3, 6}},
      {"x", {0}},
      {"xy\u00e9z", {0, 5, 0}},
      {"<unk>a", {0, 1}}}},
    {"unigram with bytes",
     R"({"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -2.0], ["<0xC3>", )"
     R"(-9.0], ["<0xA9>", -9.0]], "byte_fallback": true})",
     {{"a\u00e9\u00e9", {1, 2, 3, 2, 3}}, {"\u00e9x", {0}}}},
    {"unigram, of equal scores the first",
     R"({"type": "Unigram", "unk_id": null, "vocab": [["a", -1.0], ["b", -1.0], ["ab", -2.0], )"
     R"(["ba", -2.0], ["aba", -3.0]]})",
     {{"ab", {2}}, {"aba", {4}}, {"abab", {2, 2}}}},
    {"word level",
     R"({"type": "WordLevel", "vocab": {"a": 0, "b": 7, "<unk>": 3}, "unk_token": "<unk>"})",
     {{"a", {0}}, {"b", {7}}, {"ab", {3}}, {"\u00e9", {3}}}},
};

TEST(Model, as_the_python_package) {
  for (const ModelCase& c : model_cases) {
    const TokenizerState t = value_or_throw(tokenizer_of(c.json));
    for (int round = 0; round < 2; ++round)  // the second time from the cache
      for (const auto& [text, ids] : c.texts)
        EXPECT_EQ(encoded(t, text), ids) << c.name << ": " << text;
  }
}

// The merges of a long word, against one that looks for the least rank each time.
TEST(Model, merges_of_long_words) {
  const std::string vocabulary =
      R"({"a": 0, "b": 1, "aa": 2, "ab": 3, "ba": 4, "aab": 5, "abab": 6, "aaaab": 7})";
  const std::vector<std::pair<std::string, std::string>> merges = {
      {"a", "b"}, {"a", "a"}, {"aa", "b"}, {"ab", "ab"}, {"b", "a"}, {"aa", "aab"}};
  std::string list;
  for (const auto& [l, r] : merges)
    list += fmt::format(R"({}["{}", "{}"])", list.empty() ? "" : ", ", l, r);
  const TokenizerState t = value_or_throw(tokenizer_of(
      fmt::format(R"({{"type": "BPE", "vocab": {}, "merges": [{}]}})", vocabulary, list)));
  uint64_t seed = 1;
  for (int round = 0; round < 200; ++round) {
    std::string word;
    std::vector<std::string> parts;
    for (int i = 0; i < 150; ++i) {
      seed = seed * 6364136223846793005 + 1442695040888963407;
      word += seed >> 33 & 1 ? 'a' : 'b';
      parts.emplace_back(1, word.back());
    }
    for (bool merged = true; merged;) {
      merged = false;
      for (const auto& [l, r] : merges)
        for (size_t i = 0; i + 1 < parts.size() && !merged; ++i)
          if (parts[i] == l && parts[i + 1] == r) {
            parts[i] += r;
            parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i) + 1);
            merged = true;
          }
    }
    Ids want;
    for (const std::string& p : parts) want.push_back(*t.id(p));
    ASSERT_EQ(encoded(t, word), want) << word;
  }
}

std::string read_failure(std::string_view json) {
  const auto t = tokenizer_of(json);
  return t.ok() ? "" : t.failure().message;
}

TEST(Model, mistakes) {
  EXPECT_EQ(read_failure(R"({"type": "BPE", "dropout": 0.1, "vocab": {}, "merges": []})"),
            "tokenizer.json.model.dropout: ids would be random: set it to null in the file");
  EXPECT_EQ(read_failure(R"({"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": [["a", "b"]]})"),
            "tokenizer.json.model: merge 0: the vocabulary lacks \"ab\"");
  EXPECT_EQ(read_failure(R"({"type": "BPE", "vocab": {"a": 0}, "merges": ["a a a"]})"),
            "tokenizer.json.model.merges: \"a a a\": expected two tokens with a space between");
  EXPECT_EQ(read_failure(R"({"type": "BPE", "vocab": {"a": 0}, "merges": [["a"]]})"),
            "tokenizer.json.model.merges: expected a text or a list of two texts");
  EXPECT_EQ(read_failure(R"({"type": "BPE", "vocab": {"aa": 0, "a": 1}, "merges": [["aa", "a"]],
                            "continuing_subword_prefix": "##"})"),
            "tokenizer.json.model: merge 0: \"a\" is shorter than the continuing_subword_prefix");
  EXPECT_EQ(read_failure(R"({"type": "BPE", "vocab": {"a": -1}, "merges": []})"),
            "tokenizer.json.model.vocab: the id of \"a\": expected an integer in [0, 2^32 - 1)");
  EXPECT_EQ(read_failure(R"({"type": "Unigram", "vocab": [["a", -1.0]], "unk_id": 1})"),
            "tokenizer.json.model.unk_id: 1 is no token, there are 1");
  EXPECT_EQ(read_failure(R"({"type": "Unigram", "vocab": [["a", -1.0], ["b"]]})"),
            "tokenizer.json.model.vocab[1]: expected a token and its score");
  EXPECT_EQ(read_failure(R"({"type": "WordPiece", "vocab": {}})"),
            "tokenizer.json.model: \"unk_token\" is missing");
  EXPECT_EQ(read_failure(R"({"type": "Neural"})"),
            "tokenizer.json.model: the type \"Neural\" isn't covered");
}

TEST(Model, no_token_for_unknown_ones) {
  const auto message = [](std::string_view json, std::string_view text) {
    return value_or_throw(tokenizer_of(json)).encode(text, {}).failure().message;
  };
  EXPECT_EQ(message(R"({"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "<unk>"})", "b"),
            "\"b\" has no token, and the vocabulary lacks the token \"<unk>\" for unknown ones");
  EXPECT_EQ(message(R"({"type": "BPE", "vocab": {"a": 0}, "merges": [], "unk_token": "?"})", "ab"),
            "\"b\" has no token, and the vocabulary lacks the token \"?\" for unknown ones");
  EXPECT_EQ(message(R"({"type": "Unigram", "vocab": [["a", -1.0]], "unk_id": null})", "ab"),
            "\"b\" has no token, and the model names none for unknown ones");
  EXPECT_EQ(message(R"({"type": "WordPiece", "vocab": {"a": 0}, "unk_token": "[UNK]",
                        "continuing_subword_prefix": "##", "max_input_chars_per_word": 10})",
                    "aa"),
            "\"aa\" has no token, and the vocabulary lacks the token \"[UNK]\" for unknown ones");
}

}  // namespace
}  // namespace cleave::text
