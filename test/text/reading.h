// What tests of src/text read from JSON.
#pragma once
#include <gtest/gtest.h>

#include "text/tokenizer_state.h"

namespace cleave::text::test {

// Reads a part of a file from JSON: read(fields).
template <class Read>
auto read_json(std::string_view json, Read&& read) {
  simdjson::dom::parser parser;
  const simdjson::padded_string text(json);
  JsonElement e;
  EXPECT_EQ(parser.parse(text).get(e), simdjson::SUCCESS) << json;
  int regexes = 64;
  return read(value_or_throw(Fields::of(e, "part", regexes)));
}

// A whole file; members that aren't given are null.
inline Result<TokenizerState> tokenizer_of(std::string_view model, std::string_view others = "") {
  return TokenizerState::read(fmt::format(R"({{"version": "1.0", "model": {}{}{}}})", model,
                                          others.empty() ? "" : ", ", others));
}

using Ids = std::vector<int64_t>;
inline Ids encoded(const TokenizerState& t, std::string_view text, bool with_special = true) {
  return value_or_throw(t.encode(text, {.add_special_tokens = with_special}));
}

}  // namespace cleave::text::test
