// WordPiece: from the left, the longest token each time; a word with a part that is none is unknown
// as a whole (BERT's WordpieceTokenizer).
#include "text/model.h"
#include "text/token_trie.h"
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
        unknown_id_(vocabulary_.id(o_.unknown)) {
    std::vector<std::pair<std::string_view, uint32_t>> first, rest;
    vocabulary_.for_each([&](std::string_view token, uint32_t id) {
      first.emplace_back(token, id);
      if (token.starts_with(o_.prefix)) rest.emplace_back(token.substr(o_.prefix.size()), id);
    });
    first_ = TokenTrie(std::move(first));
    rest_ = TokenTrie(std::move(rest));
  }

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
    for (size_t at = 0; at < word.size();) {
      size_t longest = 0;
      uint32_t id = 0;
      (at == 0 ? first_ : rest_).for_each_prefix(word, at, [&](size_t bytes, uint32_t value) {
        longest = bytes;
        id = value;
      });
      if (longest == 0) return false;
      ids.push_back(id);
      at += longest;
    }
    return true;
  }

  TokenTrie first_, rest_;  // of the tokens that begin a word, and of the others without the prefix
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
