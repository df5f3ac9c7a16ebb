// Metaspace: SentencePiece's spaces, which are U+2581 and begin a word.
#include "text/metaspace.h"

#include "text/pre_tokenizer.h"

namespace cleave::text {
namespace {

class MetaspacePreTokenizer final : public PreTokenizer {
 public:
  MetaspacePreTokenizer(Metaspace options, bool splits) : options_(options), splits_(splits) {
    append(space_, options.replacement);
  }

  Status apply(Words& words, Allowance& allowance) const override {
    CLEAVE_CHECK(rewrite_words(words, allowance,
                               [this](std::string& out, std::string_view word, size_t initial) {
                                 return write(out, word, initial);
                               }));
    if (!splits_) return {};
    return split(words, SplitBehavior::merged_with_next,
                 [this](std::string_view word, Parts& parts) -> Status {
                   find_code_points(word, parts,
                                    [this](char32_t c) { return c == options_.replacement; });
                   return {};
                 });
  }

 private:
  size_t write(std::string& out, std::string_view word, size_t initial) const {
    const bool begins = word.starts_with(' ') || word.starts_with(space_);
    const bool may = options_.scheme == PrependScheme::always ||
                     (options_.scheme == PrependScheme::first && initial > 0);
    const size_t begin = out.size();
    if (may && !begins) out += space_;
    size_t written = out.size() - begin;
    for (size_t at = 0; at < word.size(); ++at) {
      if (word[at] == ' ')
        out += space_;
      else
        out += word[at];
      if (at + 1 == initial) written = out.size() - begin;
    }
    return written;
  }

  Metaspace options_;
  bool splits_;
  std::string space_;
};

}  // namespace

Result<Metaspace> read_metaspace_options(const Fields& fields) {
  Metaspace m;
  CLEAVE_TRY(m.replacement, fields.character("replacement"));
  CLEAVE_TRY(const std::optional<std::string> scheme, fields.maybe_text("prepend_scheme"));
  CLEAVE_TRY(const bool add_prefix_space, fields.boolean("add_prefix_space", true));
  if (!scheme) {
    m.scheme = add_prefix_space ? PrependScheme::always : PrependScheme::never;
    return m;
  }
  constexpr std::string_view names[] = {"first", "never", "always"};
  const auto found = std::ranges::find(names, *scheme);
  if (found == std::end(names))
    return user_error("{}: expected one of {}", fields.place_of("prepend_scheme"),
                      fmt::join(names, ", "));
  m.scheme = static_cast<PrependScheme>(found - std::begin(names));
  if (!add_prefix_space && m.scheme != PrependScheme::never)
    return user_error("{}: false contradicts the prepend_scheme {}",
                      fields.place_of("add_prefix_space"), *scheme);
  return m;
}

Result<PreTokenizerPtr> read_metaspace(const Fields& fields) {
  CLEAVE_TRY(const Metaspace options, read_metaspace_options(fields));
  CLEAVE_TRY(const bool splits, fields.boolean("split", true));
  return PreTokenizerPtr(std::make_unique<const MetaspacePreTokenizer>(options, splits));
}

}  // namespace cleave::text
