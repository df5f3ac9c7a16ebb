// ByteLevel: words by GPT-2's expression, a space before the first; then bytes as characters.
#include "text/byte_level.h"
#include "text/pre_tokenizer.h"

namespace cleave::text {
namespace {

// GPT-2's encoder.py.
constexpr std::string_view gpt2_words =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

class ByteLevel final : public PreTokenizer {
 public:
  ByteLevel(bool add_prefix_space, std::optional<Regex> pattern)
      : add_prefix_space_(add_prefix_space), pattern_(std::move(pattern)) {}

  Status apply(Words& words, Allowance& allowance) const override {
    if (add_prefix_space_) CLEAVE_CHECK(add_spaces(words, allowance));
    if (pattern_) {
      Regex::Search search(*pattern_, allowance.regex);
      CLEAVE_CHECK(
          split(words, SplitBehavior::isolated, [&](std::string_view word, Parts& parts) -> Status {
            return find_matches(search, word, parts);
          }));
    }
    return rewrite_words(words, allowance,
                         [](std::string& out, std::string_view word, size_t initial) {
                           const size_t begin = out.size();
                           append_byte_level(out, word.substr(0, initial));
                           const size_t written = out.size() - begin;
                           append_byte_level(out, word.substr(initial));
                           return written;
                         });
  }

 private:
  static Status add_spaces(Words& words, Allowance& allowance) {
    return rewrite_words(words, allowance,
                         [](std::string& out, std::string_view word, size_t initial) {
                           const bool adds = !word.starts_with(' ');
                           if (adds) out += ' ';
                           out += word;
                           return initial + (adds ? 1 : 0);
                         });
  }

  bool add_prefix_space_;
  std::optional<Regex> pattern_;
};

}  // namespace

Result<PreTokenizerPtr> read_byte_level(const Fields& fields) {
  CLEAVE_TRY(const bool add_prefix_space, fields.boolean("add_prefix_space"));
  CLEAVE_TRY(const bool use_regex, fields.boolean("use_regex", true));
  std::optional<Regex> pattern;
  if (use_regex) { CLEAVE_TRY(pattern, Regex::read(gpt2_words)); }
  return PreTokenizerPtr(std::make_unique<const ByteLevel>(add_prefix_space, std::move(pattern)));
}

}  // namespace cleave::text
