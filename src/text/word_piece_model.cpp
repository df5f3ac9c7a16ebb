// WordPiece: from the left, the longest token each time; a word with a part that is none is unknown
// as a whole (BERT's WordpieceTokenizer).
#include "text/model.h"
#include "text/unicode.h"
#include "text/word_cache.h"

namespace cleave::text {
namespace {

struct WordPieceOptions {
  std::string unknown;
  std::string prefix;          // of tokens that don't begin a word, such as "##"
  int64_t longest_word = 100;  // code points; longer ones are unknown
};

class WordPiece final : public Model {
 public:
  WordPiece(Vocabulary vocabulary, WordPieceOptions options)
      : Model(std::move(vocabulary)), o_(std::move(options)),
        unknown_id_(vocabulary_.id(o_.unknown)) {}

  Status append_ids(std::string_view word, std::vector<int64_t>& ids) const override {
    if (cache_.find(word, ids)) return {};
    const size_t before = ids.size();
    if (static_cast<int64_t>(count_code_points(word)) > o_.longest_word || !cut(word, ids)) {
      ids.resize(before);
      if (!unknown_id_) return no_unknown_token(word, o_.unknown);
      ids.push_back(*unknown_id_);
    }
    cache_.put(word, ids.data() + before, ids.size() - before);
    return {};
  }

 private:
  // False: a part is no token.
  bool cut(std::string_view word, std::vector<int64_t>& ids) const {
    std::string token;
    for (size_t at = 0; at < word.size();) {
      token = at > 0 ? o_.prefix : std::string();
      const size_t prefix = token.size();
      token += word.substr(at, vocabulary_.longest_bytes());
      // Not within a code point, where the token is a part of what is left.
      if (at + token.size() - prefix < word.size()) trim_to_code_point(token, word, at, prefix);
      while (token.size() > prefix) {
        if (const auto id = vocabulary_.id(token)) {
          ids.push_back(*id);
          break;
        }
        token.resize(last_code_point(token));
      }
      if (token.size() <= prefix) return false;
      at += token.size() - prefix;
    }
    return true;
  }

  static void trim_to_code_point(std::string& token, std::string_view word, size_t at,
                                 size_t prefix) {
    while (token.size() > prefix &&
           (static_cast<uint8_t>(word[at + token.size() - prefix]) & 0xc0) == 0x80)
      token.pop_back();
  }

  WordPieceOptions o_;
  std::optional<uint32_t> unknown_id_;
  mutable WordCache cache_;
};

}  // namespace

Result<ModelPtr> read_word_piece(const Fields& fields) {
  WordPieceOptions o;
  CLEAVE_TRY(o.unknown, fields.text("unk_token"));
  CLEAVE_TRY(o.prefix, fields.text("continuing_subword_prefix"));
  CLEAVE_TRY(o.longest_word, fields.natural("max_input_chars_per_word"));
  CLEAVE_TRY(Vocabulary vocabulary, Vocabulary::read(fields, "vocab"));
  return ModelPtr(std::make_unique<const WordPiece>(std::move(vocabulary), std::move(o)));
}

}  // namespace cleave::text
