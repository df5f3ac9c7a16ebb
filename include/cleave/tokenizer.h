// Tokenizers of Hugging Face's tokenizer.json, read and run in C++.
//
//   Tokenizer t = Tokenizer::load("gpt2/tokenizer.json");
//   std::vector<int64_t> ids = t.encode("In the beginning");
//   std::string text = t.decode(ids);
//
// The models BPE, WordPiece, Unigram and WordLevel with their normalizers, pre-tokenizers, added
// tokens, post-processors and decoders, for single sequences; the ids and texts are those of the
// Python package `tokenizers`. The file's settings of truncation and padding are ignored: encode()
// gives every token of the text, and no more. A model with dropout is refused.
//
// The file may be hostile: nothing in it is executed, memory is bounded by its size, its regular
// expressions run under limits.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cleave/error.h"

namespace cleave {

class TokenizerState;

// A handle: copies share what was loaded. Several threads may use one at the same time.
class CLEAVE_API Tokenizer {
 public:
  // From a tokenizer.json, or a folder that has one. Errors (user): a file that can't be read, is
  // damaged or contradicts itself, with the place in it; (unsupported) what isn't covered, by name.
  static Tokenizer load(const std::string& path);

  struct EncodeOptions {
    // Those that the post-processor adds, such as [CLS]. Special tokens that stand in the text are
    // found there either way.
    bool add_special_tokens = true;
  };
  // The ids of a text in UTF-8, [number of tokens]. Errors (user): bytes that aren't UTF-8, with
  // their place; a regular expression of the file that takes too long on this text; a token that
  // the vocabulary lacks where the model has no token for unknown ones.
  std::vector<int64_t> encode(std::string_view text) const;
  std::vector<int64_t> encode(std::string_view text, const EncodeOptions& options) const;

  struct DecodeOptions {
    bool skip_special_tokens = true;
  };
  // The text of ids. Ids that no token has are left out; bytes that aren't UTF-8 become U+FFFD.
  std::string decode(std::span<const int64_t> ids) const;
  std::string decode(std::span<const int64_t> ids, const DecodeOptions& options) const;

  // The largest id plus 1, added tokens included.
  int64_t vocabulary_size() const;
  // The id of a token as it stands in the vocabulary, such as "Ġthe"; nullopt if there is none.
  std::optional<int64_t> id(const std::string& token) const;
  // The token with this id. Error (user): there is none.
  std::string token(int64_t id) const;

 private:
  explicit Tokenizer(std::shared_ptr<const TokenizerState> state);
  std::shared_ptr<const TokenizerState> state_;
};

}  // namespace cleave
