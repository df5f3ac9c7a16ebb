// Pre-tokenizers that split by a pattern: Split, and Whitespace, whose pattern is \w+|[^\w\s]+.
#include "text/pre_tokenizer.h"

namespace cleave::text {
namespace {

class Split final : public PreTokenizer {
 public:
  Split(Regex pattern, SplitBehavior behavior, bool inverted)
      : pattern_(std::move(pattern)), behavior_(behavior), inverted_(inverted) {}

  Status apply(Words& words, Allowance& allowance) const override {
    Regex::Search search(pattern_, allowance.regex);
    return split(words, behavior_, [&](std::string_view word, Parts& parts) -> Status {
      CLEAVE_CHECK(find_matches(search, word, parts));
      if (inverted_)
        for (Part& p : parts) p.is_match = !p.is_match;
      return {};
    });
  }

 private:
  Regex pattern_;
  SplitBehavior behavior_;
  bool inverted_;
};

enum class Kind : uint8_t { space, word, other };
Kind kind_of(char32_t c) {
  return is_word_character(c) ? Kind::word : is_white_space(c) ? Kind::space : Kind::other;
}

class Whitespace final : public PreTokenizer {
 public:
  Status apply(Words& words, Allowance&) const override {
    return split(words, SplitBehavior::removed, [](std::string_view word, Parts& parts) -> Status {
      Kind before = Kind::space;
      for_each_code_point(word, [&](char32_t c, size_t at, size_t bytes) {
        const Kind kind = kind_of(c);
        if (parts.empty() || kind != before) parts.push_back({at, at, kind == Kind::space});
        parts.back().end = at + bytes;
        before = kind;
      });
      return {};
    });
  }
};

}  // namespace

Status find_matches(Regex::Search& search, std::string_view word, Parts& parts) {
  search.start(word);
  size_t done = 0;
  for (RegexMatch match;;) {
    CLEAVE_TRY(const bool found, search.next(match));
    if (!found) break;
    if (done != match.begin) parts.push_back({done, match.begin, false});
    parts.push_back({match.begin, match.end, true});
    done = match.end;
  }
  if (done != word.size()) parts.push_back({done, word.size(), false});
  return {};
}

Result<PreTokenizerPtr> read_split(const Fields& fields) {
  CLEAVE_TRY(Regex pattern, fields.pattern("pattern"));
  CLEAVE_TRY(const SplitBehavior behavior, read_behavior(fields));
  CLEAVE_TRY(const bool inverted, fields.boolean("invert"));
  return PreTokenizerPtr(std::make_unique<const Split>(std::move(pattern), behavior, inverted));
}

PreTokenizerPtr make_whitespace() { return std::make_unique<const Whitespace>(); }

}  // namespace cleave::text
