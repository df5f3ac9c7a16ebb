// What the pre-tokenizer and the decoder Metaspace share.
#pragma once
#include "text/fields.h"

namespace cleave::text {

// Where a space is put before a word that has none: never, before each, or before the first of a
// text.
enum class PrependScheme : uint8_t { first, never, always };

struct Metaspace {
  char32_t replacement = U'\u2581';  // of a space
  PrependScheme scheme = PrependScheme::always;
};

// Errors (user): a scheme that is none or that contradicts the older add_prefix_space.
Result<Metaspace> read_metaspace_options(const Fields& fields);

}  // namespace cleave::text
