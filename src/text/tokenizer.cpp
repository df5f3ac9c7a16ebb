// The public class.
#include "cleave/tokenizer.h"

#include "text/tokenizer_state.h"

namespace cleave {

Tokenizer::Tokenizer(std::shared_ptr<const TokenizerState> state) : state_(std::move(state)) {}

Tokenizer Tokenizer::load(const std::string& path) {
  return Tokenizer(
      std::make_shared<const TokenizerState>(value_or_throw(TokenizerState::load(path))));
}

std::vector<int64_t> Tokenizer::encode(std::string_view text) const { return encode(text, {}); }
std::vector<int64_t> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  return value_or_throw(state_->encode(text, options));
}

std::string Tokenizer::decode(std::span<const int64_t> ids) const { return decode(ids, {}); }
std::string Tokenizer::decode(std::span<const int64_t> ids, const DecodeOptions& options) const {
  return value_or_throw(state_->decode(ids, options));
}

int64_t Tokenizer::vocabulary_size() const { return state_->vocabulary_size(); }
std::optional<int64_t> Tokenizer::id(const std::string& token) const { return state_->id(token); }

std::string Tokenizer::token(int64_t id) const {
  const auto found = state_->token(id);
  if (!found)
    throw_failure(
        user_error("no token has the id {}, the largest is {}", id, state_->vocabulary_size() - 1));
  return std::string(*found);
}

}  // namespace cleave
