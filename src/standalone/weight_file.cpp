#include "standalone/weight_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace cleave::standalone {
namespace {

constexpr uint64_t most_header_bytes = 100'000'000;

// In the order of DType.
constexpr std::array<std::string_view, dtype_count> dtype_names = {
    "F64", "F32", "BF16", "F16", "I64", "I32", "I16", "I8", "U8", "BOOL", "C64"};

// The bytes that follow the first one of a character; -1: it begins none.
int bytes_that_follow(unsigned char first) {
  if (first < 0x80) return 0;
  if (first >= 0xc2 && first < 0xe0) return 1;
  if (first >= 0xe0 && first < 0xf0) return 2;
  return first >= 0xf0 && first < 0xf5 ? 3 : -1;
}

// Without longer forms than needed, halves of characters, and numbers beyond the last one.
bool is_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const auto byte = [&](size_t k) { return static_cast<unsigned char>(text[at + k]); };
    const int more = bytes_that_follow(byte(0));
    if (more < 0 || text.size() - at <= static_cast<size_t>(more)) return false;
    for (int k = 1; k <= more; ++k)
      if ((byte(static_cast<size_t>(k)) & 0xc0) != 0x80) return false;
    if ((byte(0) == 0xe0 && byte(1) < 0xa0) || (byte(0) == 0xed && byte(1) >= 0xa0) ||
        (byte(0) == 0xf0 && byte(1) < 0x90) || (byte(0) == 0xf4 && byte(1) >= 0x90))
      return false;
    at += static_cast<size_t>(more) + 1;
  }
  return true;
}

// The header's text, read from its beginning. What isn't of a header's form fails it, and from
// there on all is empty.
class HeaderText {
 public:
  explicit HeaderText(std::string_view text) : left_(text) {}
  bool failed() const { return failed_; }
  void fail() {
    failed_ = true;
    left_ = {};
  }
  bool at_end() {
    skip();
    return !failed_ && left_.empty();
  }

  // Whether the next character is this one, which is then read.
  bool takes(char c) {
    skip();
    if (!left_.starts_with(c)) return false;
    left_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!takes(c)) fail();
  }

  std::string string() {
    std::string out;
    expect('"');
    while (!failed_) {
      if (left_.empty() || static_cast<unsigned char>(left_[0]) < 0x20) {
        fail();
        break;
      }
      const char c = next();
      if (c == '"') return out;
      if (c == '\\')
        escape(out);
      else
        out += c;
    }
    return "";
  }

  // Of at least 0.
  int64_t integer() {
    skip();
    int64_t out = 0, digits = 0;
    for (; !left_.empty() && left_[0] >= '0' && left_[0] <= '9'; ++digits)
      if ((digits == 1 && out == 0) || __builtin_mul_overflow(out, 10, &out) ||
          __builtin_add_overflow(out, int64_t{next() - '0'}, &out)) {
        fail();
        return 0;
      }
    if (digits == 0) fail();
    return out;
  }

  std::vector<int64_t> integers() {
    std::vector<int64_t> out;
    expect('[');
    if (takes(']')) return out;
    do out.push_back(integer());
    while (out.size() <= 64 && takes(','));
    expect(']');
    return out;
  }

  // Calls f(key) for each member; f reads its value.
  template <class F>
  void object(const F& f) {
    expect('{');
    if (takes('}')) return;
    do {
      const std::string key = string();
      expect(':');
      if (!failed_) f(key);
    } while (takes(','));
    expect('}');
  }

 private:
  void skip() {
    while (!left_.empty() && std::string_view(" \t\n\r").find(left_[0]) != std::string_view::npos)
      left_.remove_prefix(1);
  }
  char next() {
    const char c = left_[0];
    left_.remove_prefix(1);
    return c;
  }

  void escape(std::string& out) {
    constexpr std::string_view letters = "\"\\/bfnrt", meant = "\"\\/\b\f\n\r\t";
    if (left_.empty()) return fail();
    const char c = next();
    if (const size_t at = letters.find(c); at != std::string_view::npos) {
      out += meant[at];
      return;
    }
    if (c != 'u' || left_.size() < 4) return fail();
    uint32_t code = 0;
    for (int k = 0; k < 4; ++k) {
      constexpr std::string_view digits = "0123456789abcdef";
      const char digit = next();
      const size_t value = digits.find(static_cast<char>(digit >= 'A' ? digit | 0x20 : digit));
      if (value == std::string_view::npos) return fail();
      code = code * 16 + static_cast<uint32_t>(value);
    }
    if (code >= 0xd800 && code < 0xe000) return fail();  // half of a character beyond 0xffff
    if (code < 0x80) {
      out += static_cast<char>(code);
    } else if (code < 0x800) {
      out += static_cast<char>(0xc0 | code >> 6);
      out += static_cast<char>(0x80 | (code & 0x3f));
    } else {
      out += static_cast<char>(0xe0 | code >> 12);
      out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
      out += static_cast<char>(0x80 | (code & 0x3f));
    }
  }

  std::string_view left_;
  bool failed_ = false;
};

// One tensor of the header; of failed text nothing holds.
struct Entry {
  std::string dtype;
  std::vector<int64_t> shape, offsets;
  int fields = 0;  // each of them has a bit
};

Entry read_entry(HeaderText& text) {
  Entry e;
  text.object([&](const std::string& key) {
    const int field = key == "dtype" ? 1 : key == "shape" ? 2 : key == "data_offsets" ? 4 : 0;
    if (field == 0 || (e.fields & field) != 0) return text.fail();
    e.fields |= field;
    if (field == 1)
      e.dtype = text.string();
    else
      (field == 2 ? e.shape : e.offsets) = text.integers();
  });
  if (e.fields != 7 || e.offsets.size() != 2) text.fail();
  return e;
}

Result<FileTensor> tensor_of(const Entry& e, std::span<const std::byte> data) {
  const auto* const dtype = std::ranges::find(dtype_names, e.dtype);
  if (dtype == dtype_names.end()) return unsupported("dtype {}", e.dtype);
  FileTensor out{static_cast<DType>(dtype - dtype_names.begin()), e.shape, {}};
  int64_t bytes = size_of(out.dtype);
  for (const int64_t dim : e.shape)
    if (__builtin_mul_overflow(bytes, dim, &bytes)) return user_error("its shape is too large");
  const int64_t begin = e.offsets[0], end = e.offsets[1];
  if (begin > end || std::cmp_greater(end, data.size()) || end - begin != bytes)
    return user_error("data_offsets are [{}, {}) of {} bytes, and it has {}", begin, end,
                      data.size(), bytes);
  out.data = data.subspan(static_cast<size_t>(begin), static_cast<size_t>(bytes));
  return out;
}

Result<std::vector<std::byte>> read_whole(const std::string& path) {
  const auto failed = [&] { return user_error("{}: {}", path, strerror(errno)); };
  struct File {
    int number;
    ~File() {
      if (number >= 0) close(number);
    }
  } file{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat about{};
  if (file.number < 0 || fstat(file.number, &about) != 0) return failed();
  if (!S_ISREG(about.st_mode)) return user_error("{}: it is no regular file", path);
  std::vector<std::byte> bytes(static_cast<size_t>(about.st_size));
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = read(file.number, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed();
    if (n == 0) return user_error("{}: it became shorter while it was read", path);
    done += static_cast<size_t>(n);
  }
  return bytes;
}

}  // namespace

Result<WeightFile> WeightFile::open(const std::string& path) {
  WeightFile out;
  CLEAVE_TRY(out.bytes_, read_whole(path));
  const std::span<const std::byte> bytes(out.bytes_);
  uint64_t length = 0;
  if (bytes.size() < sizeof(length))
    return user_error("{}: no .safetensors file: {} bytes", path, bytes.size());
  memcpy(&length, bytes.data(), sizeof(length));
  if (length > most_header_bytes || length > bytes.size() - sizeof(length))
    return user_error("{}: no .safetensors file: a header of {} bytes in a file of {}", path,
                      length, bytes.size());
  const auto header = bytes.subspan(sizeof(length), length);
  const auto data = bytes.subspan(sizeof(length) + length);
  HeaderText text({reinterpret_cast<const char*>(header.data()), header.size()});
  std::vector<std::pair<int64_t, int64_t>> ranges;
  Status wrong;
  bool has_metadata = false;
  text.object([&](const std::string& key) {
    if (key == "__metadata__") {
      if (has_metadata) return text.fail();
      has_metadata = true;
      return text.object([&](const std::string&) { text.string(); });
    }
    const Entry e = read_entry(text);
    if (text.failed() || !wrong.ok()) return;
    Result<FileTensor> tensor = tensor_of(e, data);
    if (!tensor.ok())
      wrong = std::move(tensor).failure().within(fmt::format("{}: {}", path, key));
    else if (key.empty() || !out.tensors_.emplace(key, *std::move(tensor)).second)
      wrong = user_error("{}: two tensors have the name `{}`, or one has none", path, key);
    else
      ranges.emplace_back(e.offsets[0], e.offsets[1]);
  });
  if (!is_utf8({reinterpret_cast<const char*>(header.data()), header.size()}))
    return user_error("{}: its header isn't UTF-8", path);
  if (!text.at_end() || header[0] != std::byte{'{'})
    return user_error("{}: its header isn't that of a .safetensors file", path);
  CLEAVE_CHECK(std::move(wrong));
  std::ranges::sort(ranges);
  int64_t end = 0;
  bool are_in_a_row = true;
  for (const auto& [begin, next] : ranges) {
    are_in_a_row = are_in_a_row && begin == end;
    end = next;
  }
  if (!are_in_a_row || std::cmp_not_equal(end, data.size()))
    return user_error("{}: its tensors overlap, or leave gaps in its data", path);
  return out;
}

}  // namespace cleave::standalone
