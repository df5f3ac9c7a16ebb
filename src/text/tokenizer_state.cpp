#include "text/tokenizer_state.h"

#include <filesystem>
#include <fstream>

#include "base/printable.h"

namespace cleave {
namespace {

using namespace text;

constexpr size_t deepest_json = 64;
constexpr int most_regexes = 64;

Result<std::string> read_file(const std::string& path) {
  std::error_code error;
  const std::filesystem::path given = path;
  const bool is_folder = std::filesystem::is_directory(given, error);
  const std::filesystem::path file = is_folder ? given / "tokenizer.json" : given;
  std::ifstream in(file, std::ios::binary);
  if (!in)
    return user_error("can't be opened{}", is_folder ? ": the folder has no tokenizer.json" : "");
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  if (in.bad()) return user_error("can't be read");
  return bytes;
}

// Reads a member where it is there.
template <class T, class Read>
Status read_part(const Fields& root, std::string_view key, T& part, Read&& read) {
  if (!root.maybe(key)) return {};
  CLEAVE_TRY(const Fields fields, root.fields(key));
  CLEAVE_TRY(part, read(fields));
  return {};
}

}  // namespace

Result<TokenizerState> TokenizerState::read(std::string_view json) {
  simdjson::dom::parser parser;
  if (parser.allocate(std::max<size_t>(json.size(), 64), deepest_json) != simdjson::SUCCESS)
    return user_error("no memory for {} bytes of JSON", json.size());
  JsonElement element;
  const auto error = parser.parse(json.data(), json.size()).get(element);
  if (error == simdjson::DEPTH_ERROR)
    return user_error("JSON: nested more than {} deep", deepest_json);
  if (error != simdjson::SUCCESS) return user_error("JSON: {}", simdjson::error_message(error));
  int regexes = most_regexes;
  CLEAVE_TRY(const Fields root, Fields::of(element, "tokenizer.json", regexes));
  CLEAVE_TRY(const std::optional<std::string> version, root.maybe_text("version"));
  if (version.value_or("1.0") != "1.0")
    return unsupported("version: {}, expected 1.0", printable(*version));
  TokenizerState t;
  CLEAVE_CHECK(read_part(root, "normalizer", t.normalizer_, read_normalizer));
  CLEAVE_CHECK(read_part(root, "pre_tokenizer", t.pre_tokenizer_, read_pre_tokenizer));
  CLEAVE_CHECK(read_part(root, "post_processor", t.post_processor_, read_post_processor));
  CLEAVE_CHECK(read_part(root, "decoder", t.decoder_, read_decoder));
  CLEAVE_TRY(const Fields model, root.fields("model"));
  CLEAVE_TRY(t.model_, read_model(model));
  CLEAVE_TRY(t.added_, AddedTokens::read(root, *t.model_, t.normalizer_.get()));
  return t;
}

Result<TokenizerState> TokenizerState::load(const std::string& path) {
  auto bytes = read_file(path);
  if (!bytes.ok()) return std::move(bytes).failure().within(path);
  auto state = read(*bytes);
  if (!state.ok()) return std::move(state).failure().within(path);
  return state;
}

Result<std::vector<int64_t>> TokenizerState::encode(std::string_view text,
                                                    const Tokenizer::EncodeOptions& options) const {
  if (!is_valid(text))
    return user_error("encode: byte {} of the text isn't UTF-8", first_invalid(text));
  Allowance allowance = Allowance::of(text.size());
  std::vector<int64_t> ids;
  if (options.add_special_tokens) ids = post_processor_.before;
  for (const AddedTokens::Part& p : added_.find(text, AddedTokens::In::given_text)) {
    if (!post_processor_.has_text) break;
    if (p.id) {
      ids.push_back(*p.id);
      continue;
    }
    const size_t initial = p.begin == 0 ? code_point_at(text, 0).bytes : 0;
    CLEAVE_CHECK(encode_section({std::string(text.substr(p.begin, p.end - p.begin)), initial},
                                allowance, ids));
  }
  if (options.add_special_tokens)
    ids.insert(ids.end(), post_processor_.after.begin(), post_processor_.after.end());
  return ids;
}

Status TokenizerState::encode_section(Section section, Allowance& allowance,
                                      std::vector<int64_t>& ids) const {
  if (normalizer_) {
    CLEAVE_CHECK(normalizer_->apply(section, allowance));
    CLEAVE_CHECK(allowance.check(section.text.size()));
  }
  for (const AddedTokens::Part& p : added_.find(section.text, AddedTokens::In::normalized_text)) {
    if (p.id) {
      ids.push_back(*p.id);
      continue;
    }
    Words words;
    words.initial = std::min(section.initial, p.end) - std::min(section.initial, p.begin);
    const bool is_whole = p.begin == 0 && p.end == section.text.size();
    words.text = is_whole ? std::move(section.text) : section.text.substr(p.begin, p.end - p.begin);
    words.words.push_back({0, words.text.size()});
    CLEAVE_CHECK(encode_words(std::move(words), allowance, ids));
  }
  return {};
}

Status TokenizerState::encode_words(Words words, Allowance& allowance,
                                    std::vector<int64_t>& ids) const {
  if (pre_tokenizer_) CLEAVE_CHECK(pre_tokenizer_->apply(words, allowance));
  for (const Word w : words.words) CLEAVE_CHECK(model_->append_ids(words.view(w), ids));
  return {};
}

Result<std::string> TokenizerState::decode(std::span<const int64_t> ids,
                                           const Tokenizer::DecodeOptions& options) const {
  Tokens tokens;
  size_t bytes = 0;
  for (const int64_t id : ids) {
    const auto found = token(id);
    if (!found || (options.skip_special_tokens && added_.is_special(*found))) continue;
    tokens.emplace_back(*found);
    bytes += found->size();
  }
  if (!decoder_) return fmt::format("{}", fmt::join(tokens, " "));
  Allowance allowance = Allowance::of(bytes);
  CLEAVE_CHECK(decoder_->apply(tokens, allowance));
  std::string text;
  for (const std::string& t : tokens) text += t;
  return text;
}

int64_t TokenizerState::vocabulary_size() const {
  return std::max(model_->vocabulary().largest_id(), added_.largest_id()) + 1;
}

std::optional<int64_t> TokenizerState::id(std::string_view token) const {
  const auto added = added_.id(token);
  const auto found = added ? added : model_->vocabulary().id(token);
  if (!found) return std::nullopt;
  return int64_t{*found};
}

std::optional<std::string_view> TokenizerState::token(int64_t id) const {
  if (id < 0 || id > UINT32_MAX) return std::nullopt;
  const auto small = static_cast<uint32_t>(id);
  const auto added = added_.token(small);
  return added ? added : model_->vocabulary().token(small);
}

}  // namespace cleave
