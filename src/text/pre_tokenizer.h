// Pre-tokenizers: from a normalized text to the words that the model cuts into tokens.
#pragma once
#include <memory>

#include "text/fields.h"
#include "text/words.h"

namespace cleave::text {

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  // Errors (user): more steps or bytes than allowed.
  virtual Status apply(Words& words, Allowance& allowance) const = 0;
};
using PreTokenizerPtr = std::unique_ptr<const PreTokenizer>;

// From the object of the file. Errors: (user) a member that is missing or wrong; (unsupported) a
// type that isn't covered.
Result<PreTokenizerPtr> read_pre_tokenizer(const Fields& fields);

// Of types that have a file of their own.
Result<PreTokenizerPtr> read_byte_level(const Fields& fields);
Result<PreTokenizerPtr> read_metaspace(const Fields& fields);
Result<PreTokenizerPtr> read_split(const Fields& fields);
// Words of letters, digits and marks, and of what is none and no space.
PreTokenizerPtr make_whitespace();

// "Removed", "Isolated", ...; Error (user): it's none.
Result<SplitBehavior> read_behavior(const Fields& fields);
// Parts of a word by a pattern.
Status find_matches(Regex::Search& search, std::string_view word, Parts& parts);

// Writes each word anew: write(out, word, is_initial), where the first word of the text may be
// initial. `write` gives the bytes of `out` that stand for the word's first `initial` bytes.
template <class F>
Status rewrite_words(Words& words, Allowance& allowance, F&& write) {
  Words made;
  made.text.reserve(words.text.size() + words.text.size() / 4);
  made.words.reserve(words.words.size());
  for (const Word w : words.words) {
    const size_t begin = made.text.size();
    const size_t initial = std::min(words.initial, w.end) - std::min(words.initial, w.begin);
    const size_t written = write(made.text, words.view(w), initial);
    if (initial > 0) made.initial = begin + written;
    CLEAVE_CHECK(allowance.check(made.text.size()));
    made.words.push_back({begin, made.text.size()});
  }
  words = std::move(made);
  return {};
}

}  // namespace cleave::text
