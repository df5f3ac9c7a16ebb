// The public class: files, folders, errors, threads; files that are damaged.
// tests: tokenizer_state.cpp fields.cpp byte_level.cpp
#include "cleave/tokenizer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "test/text/reading.h"

namespace cleave {
namespace {

// Like GPT-2's, of few tokens.
const std::string small_file = R"({"version": "1.0", "truncation": {"max_length": 2}, "padding": {},
  "added_tokens": [{"id": 8, "content": "<end>", "special": true}],
  "normalizer": {"type": "Replace", "pattern": {"Regex": "z+"}, "content": "b"},
  "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
  "post_processor": {"type": "BertProcessing", "sep": ["<end>", 8], "cls": ["<end>", 8]},
  "decoder": {"type": "ByteLevel"},
  "model": {"type": "BPE", "unk_token": "?", "vocab": {"a": 0, "b": 1, "ab": 2, "\u0120": 3,
    "\u0120ab": 4, "\u00c3": 5, "\u00a9": 6, "?": 7}, "merges": ["a b", "\u0120 ab"]}})";

class TokenizerTest : public testing::Test {
 protected:
  TokenizerTest() { std::filesystem::create_directories(folder_); }
  ~TokenizerTest() override { std::filesystem::remove_all(folder_); }
  std::string write(const std::string& name, std::string_view text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() /
      fmt::format("cleave_tokenizer_{}_{}", getpid(),
                  testing::UnitTest::GetInstance()->current_test_info()->name());
};

using Ids = std::vector<int64_t>;

TEST_F(TokenizerTest, there_and_back) {
  const Tokenizer t = Tokenizer::load(write("tokenizer.json", small_file));
  EXPECT_EQ(t.encode("ab ab\u00e9<end>zz"), (Ids{8, 2, 4, 5, 6, 8, 1, 8}));
  EXPECT_EQ(t.encode("ab", {.add_special_tokens = false}), (Ids{2}));
  EXPECT_EQ(t.decode(Ids{8, 2, 4, 5, 6, 8}), "ab ab\u00e9");
  EXPECT_EQ(t.decode(Ids{8, 2}, {.skip_special_tokens = false}), "<end>ab");
  EXPECT_EQ(t.decode(Ids{2, 5, 99, -1, int64_t{1} << 40}), "ab\ufffd");
  EXPECT_EQ(t.decode(Ids{}), "");
  EXPECT_EQ(t.encode(""), (Ids{8, 8}));
  EXPECT_EQ(t.vocabulary_size(), 9);
  EXPECT_EQ(t.id("\u0120ab"), 4);
  EXPECT_EQ(t.id("<end>"), 8);
  EXPECT_EQ(t.id("abab"), std::nullopt);
  EXPECT_EQ(t.token(4), "\u0120ab");
  EXPECT_EQ(t.token(8), "<end>");
}

TEST_F(TokenizerTest, a_folder_that_has_one) {
  write("tokenizer.json", small_file);
  const Tokenizer t = Tokenizer::load(folder_);
  const Tokenizer copy = t;
  EXPECT_EQ(copy.encode("ab"), t.encode("ab"));
}

template <class F>
std::string error_of(F&& f, ErrorKind kind = ErrorKind::user) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kind) << e.what();
    return e.what();
  }
  return "";
}

TEST_F(TokenizerTest, mistakes) {
  const std::string folder = folder_;
  EXPECT_EQ(error_of([&] { Tokenizer::load(folder); }),
            folder + ": can't be opened: the folder has no tokenizer.json");
  EXPECT_EQ(error_of([&] { Tokenizer::load(folder + "/none"); }),
            folder + "/none: can't be opened");
  const std::string bad = write("bad.json", "{");
  EXPECT_TRUE(error_of([&] { Tokenizer::load(bad); }).starts_with(bad + ": JSON: "));
  const std::string deep = write("deep.json", std::string(99, '[') + std::string(99, ']'));
  EXPECT_EQ(error_of([&] { Tokenizer::load(deep); }), deep + ": JSON: nested more than 64 deep");
  const std::string old = write("old.json", R"({"version": "2.0", "model": {}})");
  EXPECT_EQ(error_of([&] { Tokenizer::load(old); }, ErrorKind::unsupported),
            old + ": version: \"2.0\", expected 1.0");
  const std::string none = write("none.json", "{}");
  EXPECT_EQ(error_of([&] { Tokenizer::load(none); }),
            none + ": tokenizer.json: \"model\" is missing");
  const Tokenizer t = Tokenizer::load(write("tokenizer.json", small_file));
  EXPECT_EQ(error_of([&] { t.encode("ab\xff"); }), "encode: byte 2 of the text isn't UTF-8");
  EXPECT_EQ(error_of([&] { t.token(9); }), "no token has the id 9, the largest is 8");
  EXPECT_EQ(error_of([&] { t.token(-1); }), "no token has the id -1, the largest is 8");
}

TEST_F(TokenizerTest, threads_share_one) {
  const Tokenizer t = Tokenizer::load(write("tokenizer.json", small_file));
  std::string text;
  for (int i = 0; i < 300; ++i) text += std::string(static_cast<size_t>(i % 7), 'a') + "b ";
  const Ids want = t.encode(text);
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; ++k)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) ASSERT_EQ(t.encode(text), want);
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_F(TokenizerTest, without_a_decoder_tokens_have_spaces_between) {
  const Tokenizer t = Tokenizer::load(
      write("plain.json",
            R"({"model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1}, "unk_token": "?"}})"));
  EXPECT_EQ(t.decode(Ids{0, 1, 0}), "a b a");
}

// Each byte of a file altered in some ways: an error of the user's, or a tokenizer that answers.
TEST_F(TokenizerTest, damaged_files) {
  for (size_t at = 0; at < small_file.size(); ++at)
    for (const char c : {'\0', '"', '}', '9', 'x', '\xff'}) {
      std::string bad = small_file;
      bad[at] = c;
      const auto t = TokenizerState::read(bad);
      if (!t.ok()) {
        EXPECT_NE(t.failure().kind, ErrorKind::bug) << t.failure().message;
        EXPECT_NE(t.failure().message, "");
      } else if (const auto ids = t->encode("ab zz\u00e9<end>", {}); ids.ok()) {
        EXPECT_TRUE(text::is_valid(value_or_throw(t->decode(*ids, {}))));
      }
    }
  for (size_t size = 0; size < small_file.size(); ++size)
    EXPECT_FALSE(TokenizerState::read(small_file.substr(0, size)).ok());
}

TEST_F(TokenizerTest, of_tokens_with_one_id_the_first_is_its_text) {
  const Tokenizer t = Tokenizer::load(
      write("same.json",
            R"({"model": {"type": "WordLevel", "vocab": {"b": 0, "a": 0}, "unk_token": "a"}})"));
  EXPECT_EQ(t.token(0), "b");
  EXPECT_EQ(t.id("a"), 0);
}

TEST_F(TokenizerTest, ids_that_are_far_apart_take_no_memory) {
  const Tokenizer t = Tokenizer::load(
      write("far.json",
            R"({"model": {"type": "WordLevel", "vocab": {"a": 4294967294}, "unk_token": "a"}})"));
  EXPECT_EQ(t.vocabulary_size(), 4294967295);
  EXPECT_EQ(t.encode("b"), (Ids{4294967294}));
}

}  // namespace
}  // namespace cleave
