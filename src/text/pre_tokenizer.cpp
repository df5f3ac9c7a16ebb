// The pre-tokenizers that are short, and sequences of all.
#include "text/pre_tokenizer.h"

namespace cleave::text {
namespace {

// Splits at code points of a class.
template <class Is>
class AtCodePoints final : public PreTokenizer {
 public:
  AtCodePoints(Is is, SplitBehavior behavior) : is_(is), behavior_(behavior) {}
  Status apply(Words& words, Allowance&) const override {
    return split(words, behavior_, [&](std::string_view word, Parts& parts) -> Status {
      find_code_points(word, parts, is_);
      return {};
    });
  }

 private:
  Is is_;
  SplitBehavior behavior_;
};
template <class Is>
PreTokenizerPtr at_code_points(Is is, SplitBehavior behavior) {
  return std::make_unique<const AtCodePoints<Is>>(is, behavior);
}

class PreTokenizerSequence final : public PreTokenizer {
 public:
  explicit PreTokenizerSequence(std::vector<PreTokenizerPtr> steps) : steps_(std::move(steps)) {}
  Status apply(Words& words, Allowance& allowance) const override {
    for (const PreTokenizerPtr& step : steps_) CLEAVE_CHECK(step->apply(words, allowance));
    return {};
  }

 private:
  std::vector<PreTokenizerPtr> steps_;
};

Result<PreTokenizerPtr> read_pre_tokenizers(const Fields& fields) {
  std::vector<PreTokenizerPtr> steps;
  CLEAVE_CHECK(fields.for_each("pretokenizers", [&](const Fields& f) -> Status {
    CLEAVE_TRY(PreTokenizerPtr step, read_pre_tokenizer(f));
    steps.push_back(std::move(step));
    return {};
  }));
  return PreTokenizerPtr(std::make_unique<const PreTokenizerSequence>(std::move(steps)));
}

PreTokenizerPtr make_bert_pre_tokenizer() {
  std::vector<PreTokenizerPtr> steps;
  steps.push_back(at_code_points(is_white_space, SplitBehavior::removed));
  steps.push_back(at_code_points(is_punctuation, SplitBehavior::isolated));
  return std::make_unique<const PreTokenizerSequence>(std::move(steps));
}

}  // namespace

Result<SplitBehavior> read_behavior(const Fields& fields) {
  CLEAVE_TRY(const std::string name, fields.text("behavior"));
  constexpr std::string_view names[] = {"Removed", "Isolated", "MergedWithPrevious",
                                        "MergedWithNext", "Contiguous"};
  const auto found = std::ranges::find(names, name);
  if (found == std::end(names))
    return user_error("{}: expected one of {}", fields.place_of("behavior"),
                      fmt::join(names, ", "));
  return static_cast<SplitBehavior>(found - std::begin(names));
}

Result<PreTokenizerPtr> read_pre_tokenizer(const Fields& fields) {
  CLEAVE_TRY(const std::string type, fields.type());
  if (type == "Sequence") return read_pre_tokenizers(fields);
  if (type == "ByteLevel") return read_byte_level(fields);
  if (type == "Metaspace") return read_metaspace(fields);
  if (type == "Split") return read_split(fields);
  if (type == "Whitespace") return make_whitespace();
  if (type == "WhitespaceSplit") return at_code_points(is_white_space, SplitBehavior::removed);
  if (type == "BertPreTokenizer") return make_bert_pre_tokenizer();
  if (type == "Punctuation") {
    SplitBehavior behavior = SplitBehavior::isolated;
    if (fields.maybe("behavior")) { CLEAVE_TRY(behavior, read_behavior(fields)); }
    return at_code_points(is_punctuation, behavior);
  }
  if (type == "Digits") {
    CLEAVE_TRY(const bool individual, fields.boolean("individual_digits"));
    return at_code_points(is_numeric,
                          individual ? SplitBehavior::isolated : SplitBehavior::contiguous);
  }
  if (type == "CharDelimiterSplit") {
    CLEAVE_TRY(const char32_t delimiter, fields.character("delimiter"));
    return at_code_points([delimiter](char32_t c) { return c == delimiter; },
                          SplitBehavior::removed);
  }
  return fields.unknown_type();
}

}  // namespace cleave::text
