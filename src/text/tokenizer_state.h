// A tokenizer that was read: added tokens, normalizer, pre-tokenizer, model, post-processor,
// decoder.
//
//   text ─► added tokens ─► normalizer ─► added tokens ─► pre-tokenizer ─► model ─►
//   post-processor ─► ids
//   ids ─► tokens ─► decoder ─► text
#pragma once
#include "cleave/tokenizer.h"
#include "text/added_tokens.h"
#include "text/decoder.h"
#include "text/post_processor.h"
#include "text/pre_tokenizer.h"

namespace cleave {

// Doesn't change; several threads may use it.
class TokenizerState {
 public:
  // From the text of a tokenizer.json.
  static Result<TokenizerState> read(std::string_view json);
  // From a file, or a folder with a tokenizer.json.
  static Result<TokenizerState> load(const std::string& path);

  Result<std::vector<int64_t>> encode(std::string_view text,
                                      const Tokenizer::EncodeOptions& options) const;
  Result<std::string> decode(std::span<const int64_t> ids,
                             const Tokenizer::DecodeOptions& options) const;
  int64_t vocabulary_size() const;
  std::optional<int64_t> id(std::string_view token) const;
  std::optional<std::string_view> token(int64_t id) const;

 private:
  Status encode_section(text::Section section, text::Allowance& allowance,
                        std::vector<int64_t>& ids) const;
  Status encode_words(text::Words words, text::Allowance& allowance,
                      std::vector<int64_t>& ids) const;

  text::NormalizerPtr normalizer_;       // may be null
  text::PreTokenizerPtr pre_tokenizer_;  // may be null
  text::ModelPtr model_;
  text::AddedTokens added_;
  text::PostProcessor post_processor_;
  text::DecoderPtr decoder_;  // may be null
};

}  // namespace cleave
