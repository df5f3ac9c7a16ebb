// Tokens around those of a text.
#include "text/post_processor.h"

#include "test/text/reading.h"

namespace cleave::text {
namespace {

using test::encoded;
using test::Ids;

TokenizerState with(std::string_view post_processor) {
  return value_or_throw(test::tokenizer_of(
      R"({"type": "WordLevel", "vocab": {"a": 0, "<unk>": 1}, "unk_token": "<unk>"})",
      fmt::format(R"("post_processor": {})", post_processor)));
}

constexpr std::string_view template_text = R"({"type": "TemplateProcessing", "single": [
    {"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
    {"SpecialToken": {"id": "[SEP]", "type_id": 0}}], "pair": [], "special_tokens": {
    "[CLS]": {"id": "[CLS]", "ids": [5, 6], "tokens": ["x", "y"]},
    "[SEP]": {"id": "[SEP]", "ids": [7], "tokens": ["[SEP]"]}}})";

TEST(PostProcessor, adds_tokens) {
  EXPECT_EQ(encoded(with(template_text), "a"), (Ids{5, 6, 0, 7}));
  EXPECT_EQ(encoded(with(template_text), ""), (Ids{5, 6, 7}));
  EXPECT_EQ(
      encoded(with(R"({"type": "BertProcessing", "sep": ["[SEP]", 8], "cls": ["[CLS]", 9]})"), "a"),
      (Ids{9, 0, 8}));
  EXPECT_EQ(encoded(with(R"({"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 4],
                             "trim_offsets": true, "add_prefix_space": true})"),
                    "a"),
            (Ids{4, 0, 2}));
  EXPECT_EQ(encoded(with(R"({"type": "ByteLevel", "trim_offsets": true})"), "a"), (Ids{0}));
  EXPECT_EQ(encoded(with(fmt::format(R"({{"type": "Sequence", "processors": [
      {{"type": "ByteLevel"}}, {}]}})",
                                     template_text)),
                    "a"),
            (Ids{5, 6, 0, 7}));
}

TEST(PostProcessor, adds_none_if_not_asked) {
  EXPECT_EQ(encoded(with(template_text), "a", false), (Ids{0}));
}

TEST(PostProcessor, a_template_without_the_text) {
  const TokenizerState t = with(R"({"type": "TemplateProcessing", "single": [
      {"SpecialToken": {"id": "x", "type_id": 0}}], "special_tokens": {"x": {"ids": [4]}}})");
  EXPECT_EQ(encoded(t, "a"), (Ids{4}));
  EXPECT_EQ(encoded(t, "a", false), (Ids{}));
}

TEST(PostProcessor, mistakes) {
  const auto message = [](std::string_view json) {
    return test::read_json(json, read_post_processor).failure().message;
  };
  EXPECT_EQ(message(R"({"type": "TemplateProcessing", "special_tokens": {},
                        "single": [{"SpecialToken": {"id": "x"}}]})"),
            "part.special_tokens: \"x\" is missing");
  EXPECT_EQ(message(R"({"type": "TemplateProcessing", "special_tokens": {},
                        "single": [{"Sequence": {"id": "B"}}]})"),
            "part.single[0]: the sequence \"B\": one sequence has A alone");
  EXPECT_EQ(message(R"({"type": "BertProcessing", "sep": ["x"], "cls": ["y", 1]})"),
            "part.sep: expected a token and its id");
  std::string pieces;
  for (int i = 0; i < 600; ++i) pieces += R"({"SpecialToken": {"id": "x"}}, )";
  EXPECT_EQ(message(R"({"type": "TemplateProcessing", "special_tokens": {"x": {"ids": [1, 2]}},
                        "single": [)" +
                    pieces + R"({"Sequence": {"id": "A"}}]})"),
            "part.special_tokens: more than 1024 tokens around a text");
  const std::string both =
      fmt::format(R"({{"type": "Sequence", "processors": [{0}, {0}]}})", template_text);
  EXPECT_EQ(message(both), "part: two steps that add tokens aren't covered");
  EXPECT_EQ(message(R"({"type": "Magic"})"), "part: the type \"Magic\" isn't covered");
}

}  // namespace
}  // namespace cleave::text
