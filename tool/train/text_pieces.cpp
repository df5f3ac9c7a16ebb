#include "tool/train/text_pieces.h"

#include <simdjson.h>

#include <cerrno>
#include <cstring>

namespace cleave::tool {
namespace {

constexpr size_t read_bytes = size_t{1} << 18;
constexpr size_t longest_line = size_t{1} << 30;

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// In front of a UTF-8 character that begins at or before `at`.
size_t before_character(std::string_view text, size_t at) {
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) --at;
  return at;
}

// Where a piece may end; 0: nowhere in it.
size_t line_begin(std::string_view text) {
  for (size_t at = text.size() - 1; at >= 2; --at)
    if (text[at - 1] == '\n' && !is_space(text[at]) && !is_space(text[at - 2])) return at;
  return 0;
}

Status check_text(const std::string& path, std::string_view piece, int64_t offset) {
  if (const size_t at = piece.find('\0'); at != std::string_view::npos)
    return user_error("{}: byte {} is 0, so this is no text", path,
                      offset + static_cast<int64_t>(at));
  const auto found = simdjson::validate_utf8(piece);
  if (!found)
    return user_error("{}: the text isn't UTF-8 (in the {} bytes from byte {} on)", path,
                      piece.size(), offset);
  return {};
}

}  // namespace

Result<ByteStream> ByteStream::open(const std::string& path) {
  std::FILE* const f = path == "-" ? stdin : std::fopen(path.c_str(), "rb");
  if (!f) return user_error("{}: cannot be read: {}", path, std::strerror(errno));
  return ByteStream(path, f);
}

Result<size_t> ByteStream::read(size_t count, std::string& to) {
  const size_t before = to.size();
  to.resize(before + count);
  const size_t n = std::fread(to.data() + before, 1, count, file_.get());
  to.resize(before + n);
  if (n == 0 && std::ferror(file_.get()))
    return user_error("{}: cannot be read: {}", path_, std::strerror(errno));
  return n;
}

Status read_text_pieces(const std::string& path, const TakePiece& take, size_t piece_bytes) {
  CLEAVE_TRY(ByteStream stream, ByteStream::open(path));
  const size_t longest = 16 * piece_bytes;
  std::string text;
  int64_t offset = 0;
  for (bool ends = false; !ends;) {
    CLEAVE_TRY(const size_t read, stream.read(read_bytes, text));
    ends = read == 0;
    if (!ends && text.size() < piece_bytes) continue;
    size_t cut = ends ? text.size() : line_begin(text);
    if (cut == 0 && !ends) {
      if (text.size() < longest) continue;
      cut = before_character(text, text.size() - 1);
    }
    const std::string_view piece(text.data(), cut);
    if (ends && piece.empty() && offset == 0)
      return user_error("{}: the file is empty; give a text", path);
    CLEAVE_CHECK(check_text(path, piece, offset));
    CLEAVE_CHECK(take(piece, ends));
    offset += static_cast<int64_t>(cut);
    text.erase(0, cut);
  }
  return {};
}

namespace {

// The lines of a file, without their ends.
class Lines {
 public:
  explicit Lines(ByteStream stream) : stream_(std::move(stream)) {}
  // Valid until the next call; nullopt at the end.
  Result<std::optional<std::string_view>> next(const std::string& path) {
    for (size_t seen = begin_;;) {
      const size_t end = text_.find('\n', seen);
      if (end != std::string::npos || ends_) {
        if (end == std::string::npos && begin_ == text_.size())
          return std::optional<std::string_view>();
        const size_t stop = end == std::string::npos ? text_.size() : end;
        const std::string_view line(text_.data() + begin_, stop - begin_);
        begin_ = std::min(stop + 1, text_.size());
        ++number_;
        return std::optional(line);
      }
      text_.erase(0, begin_);
      begin_ = 0;
      seen = text_.size();
      if (seen > longest_line)
        return user_error("{}:{}: the line is longer than {} bytes", path, number_ + 1,
                          longest_line);
      CLEAVE_TRY(const size_t read, stream_.read(read_bytes, text_));
      ends_ = read == 0;
    }
  }
  int64_t number() const { return number_; }  // of the last line, from 1

 private:
  ByteStream stream_;
  std::string text_;
  size_t begin_ = 0;
  int64_t number_ = 0;
  bool ends_ = false;
};

}  // namespace

Status read_json_lines(const std::string& path, const std::string& field, const TakePiece& take) {
  CLEAVE_TRY(ByteStream stream, ByteStream::open(path));
  Lines lines(std::move(stream));
  simdjson::dom::parser parser;
  while (true) {
    CLEAVE_TRY(const std::optional<std::string_view> line, lines.next(path));
    if (!line) break;
    if (line->find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const auto wrong = [&](const std::string& what) {
      return user_error("{}:{}: {}", path, lines.number(), what);
    };
    simdjson::dom::element value;
    if (const auto error = parser.parse(line->data(), line->size(), true).get(value))
      return wrong(fmt::format("not JSON: {}", simdjson::error_message(error)));
    simdjson::dom::object object;
    if (value.get_object().get(object))
      return wrong("expected an object of JSON, such as {\"" + field + "\": \"...\"}");
    if (object.at_key(field).get(value))
      return wrong(fmt::format("there is no field \"{}\"; --field names another one", field));
    std::string_view text;
    if (value.get_string().get(text))
      return wrong(fmt::format("the field \"{}\" is no text", field));
    if (text.empty()) continue;
    CLEAVE_CHECK(take(text, true));
  }
  if (lines.number() == 0) return user_error("{}: the file is empty; give lines of JSON", path);
  return {};
}

}  // namespace cleave::tool
