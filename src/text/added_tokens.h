// Tokens that are found in a text as they are, before the model sees it: [CLS], <|endoftext|>.
//
// Those with `normalized` are looked for, in their normalized form, in the normalized text, the
// others in the text as it is given; the leftmost first, of these the longest.
#pragma once
#include <vector>

#include "text/model.h"
#include "text/normalizer.h"
#include "text/token_trie.h"

namespace cleave::text {

struct AddedToken {
  std::string content;
  bool single_word = false;  // only where no letter, digit or mark is beside it
  bool lstrip = false;       // takes the white space before it
  bool rstrip = false;       // and behind it
  bool normalized = false;
  bool special = false;
};

class AddedTokens {
 public:
  // From "added_tokens" of the file's root. A token that the model has keeps its id there, others
  // have the ids after it, in order, whatever the file says. `normalizer` may be null. Errors:
  // (user) a member that is missing or wrong; (unsupported) a very long token.
  static Result<AddedTokens> read(const Fields& root, const Model& model,
                                  const Normalizer* normalizer);

  // The bytes [begin, end) of a text, which are a token or none.
  struct Part {
    size_t begin, end;
    std::optional<uint32_t> id;
  };
  // All of the text, in order. Where rstrip took white space that begins another token, parts may
  // overlap.
  enum class In : uint8_t { given_text, normalized_text };
  std::vector<Part> find(std::string_view text, In in) const;

  std::optional<uint32_t> id(std::string_view token) const { return tokens_.id(token); }
  // What decoders see: the normalized form, where that differs.
  std::optional<std::string_view> token(uint32_t id) const;
  bool is_special(std::string_view token) const { return special_.id(token).has_value(); }
  int64_t largest_id() const { return tokens_.largest_id(); }

 private:
  Status add(AddedToken token, uint32_t id, const Normalizer* normalizer, Allowance& allowance);
  void make_tries();

  struct Entry {
    AddedToken token;
    std::string pattern;  // what is looked for
  };
  std::unordered_map<uint32_t, Entry> entries_;
  Vocabulary tokens_, special_;
  TokenTrie given_, normalized_;
};

}  // namespace cleave::text
