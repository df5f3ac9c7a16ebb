// Texts of tokens, as tokenizers 0.23 makes them.
// tests: byte_decoder.cpp word_piece_decoder.cpp
#include "text/decoder.h"

#include "test/text/reading.h"

namespace cleave::text {
namespace {

struct DecoderCase {
  std::string_view json;
  Tokens tokens;
  std::string_view text;
};

const DecoderCase decoder_cases[] = {
    {R"({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, )"
     R"("use_regex": true})",
     {"\u0120a", "\u00c3", "\u00a9", "\u00c3x"},
     " a\u00e9\ufffdx"},
    {R"({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true})",
     {"a", "\u4e2d b"},
     "a\u4e2d b"},
    {R"({"type": "WordPiece", "prefix": "##", "cleanup": true})",
     {"I", "'", "m", "do", "not", "go", "##ing", "."},
     "I ' m do not going."},
    {R"({"type": "WordPiece", "prefix": "##", "cleanup": false})",
     {"##a", "b", "##c", "."},
     "##a bc ."},
    {R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", )"
     R"("split": true})",
     {"\u2581a\u2581", "\u2581b"},
     "a b"},
    {R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never", )"
     R"("split": true})",
     {"\u2581a", "b"},
     " ab"},
    {R"({"type": "ByteFallback"})",
     {"a", "<0xC3>", "<0xa9>", "b", "<0xC3>", "<0xC3>", "<0x4>", "<0xGG>"},
     "a\u00e9b\ufffd\ufffd<0x4><0xGG>"},
    {R"({"type": "Fuse"})", {"a", "b"}, "ab"},
    {R"({"type": "Replace", "pattern": {"String": "▁"}, "content": " "})",
     {"\u2581a", "\u2581"},
     " a "},
    {R"({"type": "Replace", "pattern": {"Regex": "a+"}, "content": ""})", {"aab", "", "a"}, "b"},
    {R"({"type": "Strip", "content": " ", "start": 1, "stop": 0})", {"  a ", "b"}, " a b"},
    {R"({"type": "Strip", "content": "_", "start": 2, "stop": 2})", {"___a___", "b_"}, "_a_b"},
    {R"({"type": "BPEDecoder", "suffix": "</w>"})", {"a</w>", "b", "c</w>"}, "a bc"},
    {R"({"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, )"
     R"("content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", )"
     R"("content": " ", "start": 1, "stop": 0}]})",
     {"\u2581a", "\u2581", "<0x0A>"},
     "a \n"},
};

std::string decoded(std::string_view json, Tokens tokens) {
  const DecoderPtr d = value_or_throw(test::read_json(json, read_decoder));
  Allowance allowance = Allowance::of(100);
  value_or_throw(d->apply(tokens, allowance));
  std::string text;
  for (const std::string& t : tokens) text += t;
  return text;
}

TEST(Decoder, as_the_python_package) {
  for (const DecoderCase& c : decoder_cases) EXPECT_EQ(decoded(c.json, c.tokens), c.text) << c.json;
}

TEST(Decoder, nothing_is_an_empty_text) {
  for (const DecoderCase& c : decoder_cases) EXPECT_EQ(decoded(c.json, {}), "") << c.json;
}

TEST(Decoder, mistakes) {
  const auto message = [](std::string_view json) {
    return test::read_json(json, read_decoder).failure().message;
  };
  EXPECT_EQ(message(R"({"type": "CTC"})"), "part: the type \"CTC\" isn't covered");
  EXPECT_EQ(message(R"({"type": "BPEDecoder", "suffix": ""})"),
            "part: an empty suffix isn't covered");
  EXPECT_EQ(message(R"({"type": "Strip", "content": "", "start": 1, "stop": 0})"),
            "part.content: expected one character");
  EXPECT_EQ(message(R"({"type": "Strip", "content": "x", "start": -1, "stop": 0})"),
            "part.start: expected an integer in [0, 2^32 - 1)");
}

TEST(Decoder, a_replacement_may_not_grow_without_end) {
  const DecoderPtr d = value_or_throw(
      test::read_json(R"({"type": "Replace", "pattern": {"String": "a"}, "content": ")" +
                          std::string(1000, 'x') + R"("})",
                      read_decoder));
  Tokens tokens(100, std::string(100, 'a'));
  Allowance allowance = Allowance::of(10'000);
  EXPECT_FALSE(d->apply(tokens, allowance).ok());
}

}  // namespace
}  // namespace cleave::text
