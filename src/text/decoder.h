// Decoders: from tokens back to their text.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "text/fields.h"
#include "text/section.h"

namespace cleave::text {

using Tokens = std::vector<std::string>;

class Decoder {
 public:
  virtual ~Decoder() = default;
  // The tokens, which are UTF-8, as parts of the text; there may be fewer then. Errors (user): more
  // steps or bytes than allowed.
  virtual Status apply(Tokens& tokens, Allowance& allowance) const = 0;
};
using DecoderPtr = std::unique_ptr<const Decoder>;

// From the object of the file. Errors: (user) a member that is missing or wrong; (unsupported) a
// type that isn't covered.
Result<DecoderPtr> read_decoder(const Fields& fields);

// Of types that have a file of their own.
DecoderPtr make_byte_level_decoder();
DecoderPtr make_byte_fallback_decoder();
Result<DecoderPtr> read_word_piece_decoder(const Fields& fields);

void replace_all(std::string& text, std::string_view from, std::string_view to);

}  // namespace cleave::text
