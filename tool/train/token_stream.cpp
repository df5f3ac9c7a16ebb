#include "tool/train/token_stream.h"

#include <algorithm>
#include <cstring>

#include "data/input_file.h"
#include "tool/train/text_pieces.h"

namespace cleave::tool {

DocumentTokenizer::DocumentTokenizer(Tokenizer tokenizer, std::optional<int64_t> separator)
    : tokenizer_(std::move(tokenizer)) {
  const std::vector<int64_t> bare = tokenizer_.encode("a", {.add_special_tokens = false});
  const std::vector<int64_t> full = tokenizer_.encode("a", {.add_special_tokens = true});
  if (const auto found = std::ranges::search(full, bare); !bare.empty() && !found.empty()) {
    prefix_.assign(full.begin(), found.begin());
    suffix_.assign(found.end(), full.end());
  }
  if (suffix_.empty() && separator) suffix_.push_back(*separator);
}

std::vector<int64_t> DocumentTokenizer::around() const {
  std::vector<int64_t> all = prefix_;
  all.insert(all.end(), suffix_.begin(), suffix_.end());
  return all;
}

void DocumentTokenizer::add(std::string_view piece, bool ends, bool& begun, TokenStream& to) const {
  const auto append = [&](const std::vector<int64_t>& ids) {
    for (const int64_t id : ids) to.ids.push_back(static_cast<int32_t>(id));
  };
  if (!begun) append(prefix_);
  append(tokenizer_.encode(piece, {.add_special_tokens = false}));
  if (ends) append(suffix_);
  to.documents += ends;
  begun = !ends;
}

Result<TokenStream> DocumentTokenizer::text(const std::string& path) const {
  TokenStream out;
  bool begun = false;
  CLEAVE_CHECK(read_text_pieces(path, [&](std::string_view piece, bool ends) {
    add(piece, ends, begun, out);
    return Status();
  }));
  return out;
}

Result<TokenStream> DocumentTokenizer::json_lines(const std::string& path,
                                                  const std::string& field) const {
  TokenStream out;
  bool begun = false;
  CLEAVE_CHECK(read_json_lines(path, field, [&](std::string_view piece, bool ends) {
    add(piece, ends, begun, out);
    return Status();
  }));
  return out;
}

namespace {

constexpr int64_t chunk_bytes = int64_t{1} << 20;

template <class T>
Status append_tokens(const data::InputFile& file, int64_t vocabulary, TokenStream& to) {
  std::vector<std::byte> chunk(static_cast<size_t>(std::min(chunk_bytes, file.size())));
  for (int64_t at = 0; at < file.size();) {
    const auto count = std::min<int64_t>(static_cast<int64_t>(chunk.size()), file.size() - at);
    CLEAVE_CHECK(file.read(at, std::span(chunk).first(static_cast<size_t>(count))));
    for (int64_t k = 0; k < count; k += sizeof(T)) {
      T id;
      std::memcpy(&id, chunk.data() + k, sizeof id);
      if (static_cast<int64_t>(id) < 0 || static_cast<int64_t>(id) >= vocabulary)
        return user_error("{}: token {} is {}, outside of the model's vocabulary [0, {})",
                          file.path(), (at + k) / static_cast<int64_t>(sizeof(T)), id, vocabulary);
      to.ids.push_back(static_cast<int32_t>(id));
    }
    at += count;
  }
  return {};
}

bool is_zero_at_odd_places(const std::vector<int32_t>& ids) {
  if (ids.size() < 16) return false;
  for (size_t k = 1; k < ids.size(); k += 2)
    if (ids[k] != 0) return false;
  return true;
}

}  // namespace

Result<TokenStream> read_token_file(const std::string& path, bool is_u16, int64_t vocabulary) {
  CLEAVE_TRY(const data::InputFile file, data::InputFile::open(path));
  const int64_t each = is_u16 ? 2 : 4;
  if (file.size() == 0 || file.size() % each != 0)
    return user_error("{}: it has {} bytes; expected a multiple of {} of {}", path, file.size(),
                      each, is_u16 ? "u16" : "i32");
  TokenStream out;
  out.ids.reserve(static_cast<size_t>(file.size() / each));
  CLEAVE_CHECK(is_u16 ? append_tokens<uint16_t>(file, vocabulary, out)
                      : append_tokens<int32_t>(file, vocabulary, out));
  out.documents = 1;
  if (is_u16 && is_zero_at_odd_places(out.ids))
    return user_error(
        "{}: every other token is 0, as if the file were one of i32; "
        "--token-dtype i32 reads it so",
        path);
  return out;
}

}  // namespace cleave::tool
