#include "text/added_tokens.h"

#include "base/printable.h"

namespace cleave::text {
namespace {

constexpr size_t longest_content = 1024;  // bytes: a search may look at so many from each place on

// Where the white space that ends here begins.
size_t space_begin(std::string_view text, size_t end) {
  while (end > 0) {
    const size_t last = last_code_point(text.substr(0, end));
    if (!is_white_space(code_point_at(text, last).value)) break;
    end = last;
  }
  return end;
}

size_t space_end(std::string_view text, size_t begin) {
  while (begin < text.size()) {
    const CodePoint c = code_point_at(text, begin);
    if (!is_white_space(c.value)) break;
    begin += c.bytes;
  }
  return begin;
}

bool is_alone(std::string_view text, size_t begin, size_t end) {
  if (begin > 0 &&
      is_word_character(code_point_at(text, last_code_point(text.substr(0, begin))).value))
    return false;
  return end == text.size() || !is_word_character(code_point_at(text, end).value);
}

Result<AddedToken> read_added_token(const Fields& f) {
  AddedToken t;
  CLEAVE_TRY(t.content, f.text("content"));
  if (t.content.size() > longest_content)
    return unsupported("{}: a token of {} bytes, at most {} are covered", f.place(),
                       t.content.size(), longest_content);
  CLEAVE_TRY(t.special, f.boolean("special", false));
  CLEAVE_TRY(t.single_word, f.boolean("single_word", false));
  CLEAVE_TRY(t.lstrip, f.boolean("lstrip", false));
  CLEAVE_TRY(t.rstrip, f.boolean("rstrip", false));
  CLEAVE_TRY(t.normalized, f.boolean("normalized", !t.special));
  return t;
}

}  // namespace

Result<AddedTokens> AddedTokens::read(const Fields& root, const Model& model,
                                      const Normalizer* normalizer) {
  AddedTokens all;
  if (!root.maybe("added_tokens")) return all;
  auto next = static_cast<uint32_t>(model.listed());
  Allowance allowance = Allowance::of(longest_content);  // steps of all of them together
  CLEAVE_CHECK(root.for_each("added_tokens", [&](const Fields& f) -> Status {
    CLEAVE_TRY(AddedToken token, read_added_token(f));
    if (token.content.empty()) return {};
    std::optional<uint32_t> id = all.id(token.content);
    if (!id) id = model.vocabulary().id(token.content);
    return all.add(std::move(token), id ? *id : next++, normalizer, allowance);
  }));
  all.make_tries();
  return all;
}

Status AddedTokens::add(AddedToken token, uint32_t id, const Normalizer* normalizer,
                        Allowance& allowance) {
  Section pattern{token.content, 0};
  if (token.normalized && normalizer) CLEAVE_CHECK(normalizer->apply(pattern, allowance));
  tokens_.add(token.content, id);
  if (token.special) special_.add(token.content, id);
  entries_[id] = {std::move(token), std::move(pattern.text)};
  return {};
}

void AddedTokens::make_tries() {
  std::vector<std::pair<std::string_view, uint32_t>> given, normalized;
  for (const auto& [id, entry] : entries_)
    (entry.token.normalized ? normalized : given).emplace_back(entry.pattern, id);
  // Of tokens that are the same in their normalized form the least id is found.
  const auto descending = [](const auto& a, const auto& b) { return a.second > b.second; };
  std::ranges::sort(given, descending);
  std::ranges::sort(normalized, descending);
  given_ = TokenTrie(std::move(given));
  normalized_ = TokenTrie(std::move(normalized));
}

std::vector<AddedTokens::Part> AddedTokens::find(std::string_view text, In in) const {
  const TokenTrie& trie = in == In::given_text ? given_ : normalized_;
  std::vector<Part> parts;
  size_t done = 0;
  for (size_t at = 0; at < text.size() && !trie.empty();) {
    size_t bytes = 0;
    uint32_t id = 0;
    trie.for_each_prefix(text, at, [&](size_t length, uint32_t value) {
      bytes = length;
      id = value;
    });
    if (bytes == 0) {
      ++at;
      continue;
    }
    size_t begin = at, end = at + bytes;
    at = end;
    const AddedToken& token = entries_.at(id).token;
    if (token.single_word && !is_alone(text, begin, end)) continue;
    if (token.lstrip) begin = std::max(space_begin(text, begin), done);
    if (token.rstrip) end = space_end(text, end);
    if (done < begin) parts.push_back({done, begin, std::nullopt});
    if (begin >= end) continue;  // the one before took all of it
    parts.push_back({begin, end, id});
    done = end;
  }
  if (done < text.size()) parts.push_back({done, text.size(), std::nullopt});
  return parts;
}

std::optional<std::string_view> AddedTokens::token(uint32_t id) const {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return std::nullopt;
  return found->second.pattern;
}

}  // namespace cleave::text
