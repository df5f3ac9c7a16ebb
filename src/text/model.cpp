#include "text/model.h"

#include "base/printable.h"

namespace cleave::text {

Result<ModelPtr> read_model(const Fields& fields) {
  CLEAVE_TRY(const std::optional<std::string> type, fields.maybe_text("type"));
  // Files before the types were written.
  const std::string name = type.value_or(fields.maybe("merges") ? "BPE" : "");
  if (name == "BPE") return read_bpe(fields);
  if (name == "WordPiece") return read_word_piece(fields);
  if (name == "Unigram") return read_unigram(fields);
  if (name == "WordLevel") return read_word_level(fields);
  return fields.unknown_type();
}

std::string byte_token(char byte) { return fmt::format("<0x{:02X}>", static_cast<uint8_t>(byte)); }

Failure no_unknown_token(std::string_view word, const std::optional<std::string>& unknown) {
  if (unknown)
    return user_error("{} has no token, and the vocabulary lacks the token {} for unknown ones",
                      printable(word), printable(*unknown));
  return user_error("{} has no token, and the model names none for unknown ones", printable(word));
}

}  // namespace cleave::text
