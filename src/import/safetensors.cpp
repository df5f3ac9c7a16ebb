// Reads .safetensors files, checking the rules of safetensors.h in the order given here.
#include "import/safetensors.h"

#include <fcntl.h>
#include <simdjson.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <system_error>

#include "base/machine_memory.h"
#include "base/printable.h"
#include "import/safetensors_dtype.h"

namespace cleave {

namespace {

namespace dom = simdjson::dom;

constexpr uint64_t longest_header = 100'000'000;
constexpr size_t deepest_nesting = 3;  // header, tensor, shape

struct Range {
  uint64_t begin = 0, end = 0;
};

// A tensor as the header describes it.
struct HeaderEntry {
  TensorEntry entry;
  Range offsets;
};

// Returns a key that occurs twice in the object, or nothing.
std::optional<std::string> repeated_key(dom::object object) {
  std::vector<std::string_view> keys;
  for (const dom::key_value_pair field : object) keys.push_back(field.key);
  std::sort(keys.begin(), keys.end());
  const auto found = std::adjacent_find(keys.begin(), keys.end());
  if (found == keys.end()) return std::nullopt;
  return std::string(*found);
}

// An integer in [0, 2^63).
std::optional<int64_t> natural(dom::element value) {
  int64_t number = 0;
  if (value.get_int64().get(number) != simdjson::SUCCESS || number < 0) return std::nullopt;
  return number;
}

Result<DType> read_dtype(dom::element value) {
  std::string_view name;
  if (value.get_string().get(name) != simdjson::SUCCESS)
    return user_error("dtype: expected a text such as \"F32\"");
  const auto known = std::ranges::find(safetensors_dtype_names, name);
  if (known != safetensors_dtype_names.end())
    return static_cast<DType>(known - safetensors_dtype_names.begin());
  if (std::ranges::find(safetensors_foreign_dtypes, name) != safetensors_foreign_dtypes.end())
    return unsupported(
        "dtype: cleave has no {}, only {}; src/import/safetensors_dtype.h lists them", name,
        fmt::join(safetensors_dtype_names, " "));
  return user_error("dtype: {} is none, expected one of {}", printable(name),
                    fmt::join(safetensors_dtype_names, " "));
}

Result<std::vector<int64_t>> read_shape(dom::element value) {
  dom::array array;
  if (value.get_array().get(array) != simdjson::SUCCESS)
    return user_error("shape: expected a list of integers");
  std::vector<int64_t> shape;
  for (const dom::element item : array) {
    const std::optional<int64_t> dim = natural(item);
    if (!dim) return user_error("shape: dim {} is not an integer >= 0", shape.size());
    shape.push_back(*dim);
  }
  return shape;
}

Result<Range> read_offsets(dom::element value) {
  dom::array array;
  if (value.get_array().get(array) != simdjson::SUCCESS || array.size() != 2)
    return user_error("data_offsets: expected a list [begin, end]");
  const std::optional<int64_t> begin = natural(array.at(0)), end = natural(array.at(1));
  if (!begin || !end) return user_error("data_offsets: expected two integers >= 0");
  return Range{static_cast<uint64_t>(*begin), static_cast<uint64_t>(*end)};
}

Status check_extent(const HeaderEntry& found, uint64_t data_bytes) {
  const auto [begin, end] = found.offsets;
  if (begin > end) return user_error("data_offsets: begin {} is after end {}", begin, end);
  if (end > data_bytes)
    return user_error("data_offsets: end {} is outside the data of {} bytes", end, data_bytes);
  const TensorEntry& entry = found.entry;
  const std::optional<int64_t> bytes = safetensors_bytes(entry.shape, entry.dtype);
  const size_t shown = std::min<size_t>(entry.shape.size(), 12);
  const std::string type =
      fmt::format("{}[{}{}]", name_of(entry.dtype),
                  fmt::join(entry.shape.begin(), entry.shape.begin() + shown, ","),
                  shown < entry.shape.size() ? ",..." : "");
  if (!bytes) return user_error("shape: {} takes more bytes than 63 bits can count", type);
  if (static_cast<uint64_t>(*bytes) != end - begin)
    return user_error("data_offsets: [{}, {}) is {} bytes, but {} takes {}", begin, end,
                      end - begin, type, *bytes);
  return {};
}

Result<HeaderEntry> read_tensor(std::string_view name, dom::element value, uint64_t data_bytes) {
  dom::object object;
  if (value.get_object().get(object) != simdjson::SUCCESS)
    return user_error("field: expected an object with dtype, shape and data_offsets");
  if (const auto key = repeated_key(object))
    return user_error("unique: field {} is there twice", printable(*key));
  HeaderEntry found;
  found.entry.name = name;
  int fields = 0;
  for (const dom::key_value_pair field : object) {
    if (field.key == "dtype") {
      CLEAVE_TRY(found.entry.dtype, read_dtype(field.value));
    } else if (field.key == "shape") {
      CLEAVE_TRY(found.entry.shape, read_shape(field.value));
    } else if (field.key == "data_offsets") {
      CLEAVE_TRY(found.offsets, read_offsets(field.value));
    } else {
      return user_error("field: {} is none, expected dtype, shape and data_offsets",
                        printable(field.key));
    }
    ++fields;
  }
  if (fields != 3) return user_error("field: expected dtype, shape and data_offsets, all three");
  CLEAVE_CHECK(check_extent(found, data_bytes));
  return found;
}

Result<SafetensorsMetadata> read_metadata(dom::element value) {
  dom::object object;
  if (value.get_object().get(object) != simdjson::SUCCESS)
    return user_error("metadata: expected an object of texts");
  SafetensorsMetadata metadata;
  for (const dom::key_value_pair field : object) {
    std::string_view text;
    if (field.value.get_string().get(text) != simdjson::SUCCESS)
      return user_error("metadata: {} is not a text", printable(field.key));
    if (!metadata.emplace(field.key, text).second)
      return user_error("unique: key {} is there twice", printable(field.key));
  }
  return metadata;
}

// Sorts the tensors by their data, which they must fill without gap or overlap.
Status check_cover(std::vector<HeaderEntry>& tensors, uint64_t data_bytes) {
  std::stable_sort(tensors.begin(), tensors.end(), [](const HeaderEntry& a, const HeaderEntry& b) {
    return std::tie(a.offsets.begin, a.offsets.end) < std::tie(b.offsets.begin, b.offsets.end);
  });
  uint64_t filled = 0;
  for (const HeaderEntry& found : tensors) {
    if (found.offsets.begin != filled)
      return user_error(
          "tensor {}: cover: its data begin at {}, {} the tensor before, which ends "
          "at {}",
          printable(found.entry.name), found.offsets.begin,
          found.offsets.begin > filled ? "leaving a gap after" : "overlapping", filled);
    filled = found.offsets.end;
  }
  if (filled != data_bytes)
    return user_error("cover: the tensors end at {}, but the data have {} bytes", filled,
                      data_bytes);
  return {};
}

Status check_length(uint64_t length, uint64_t file_bytes) {
  if (length > longest_header)
    return user_error("length: a header of {} bytes, the format allows {}", length, longest_header);
  if (length > file_bytes - 8)
    return user_error("length: a header of {} bytes, but only {} follow its length", length,
                      file_bytes - 8);
  return {};
}

uint64_t read_length(std::span<const std::byte, 8> bytes) {
  uint64_t length = 0;
  for (size_t i = 0; i < 8; ++i) length |= std::to_integer<uint64_t>(bytes[i]) << (8 * i);
  return length;
}

}  // namespace

// Builds a file from its header; the data are bound later, when they are available.
class SafetensorsHeaderReader {
 public:
  // Takes the header's text; data_bytes bytes follow it in the file.
  static Result<SafetensorsFile> read(std::string_view header, uint64_t data_bytes) {
    if (header.empty() || header[0] != '{') return user_error("header: expected {{ first");
    dom::parser parser;
    if (parser.allocate(header.size(), deepest_nesting + 1) != simdjson::SUCCESS)
      return user_error("header: no memory for {} bytes", header.size());
    dom::element root;
    dom::object object;
    const auto error = parser.parse(header.data(), header.size()).get(root);
    if (error == simdjson::DEPTH_ERROR)
      return user_error("header: nested more than {} deep", deepest_nesting);
    if (error != simdjson::SUCCESS)
      return user_error("header: not JSON: {}", simdjson::error_message(error));
    if (root.get_object().get(object) != simdjson::SUCCESS)
      return user_error("header: expected an object");

    SafetensorsFile file;
    std::vector<HeaderEntry> tensors;
    if (const auto key = repeated_key(object))
      return user_error("unique: {} is there twice", printable(*key));
    for (const dom::key_value_pair field : object) {
      if (field.key == "__metadata__") {
        CLEAVE_TRY(file.metadata_, read_metadata(field.value));
        continue;
      }
      if (field.key.empty()) return user_error("name: a tensor's name is empty");
      Result<HeaderEntry> found = read_tensor(field.key, field.value, data_bytes);
      if (!found.ok())
        return std::move(found).failure().within(fmt::format("tensor {}", printable(field.key)));
      tensors.push_back(*std::move(found));
    }
    CLEAVE_CHECK(check_cover(tensors, data_bytes));
    for (HeaderEntry& found : tensors) file.entries_.push_back(std::move(found.entry));
    index_names(file);
    return file;
  }

  // data has the size that the header was checked against; owner keeps it alive.
  static void bind(SafetensorsFile& file, std::span<const std::byte> data,
                   std::shared_ptr<const void> owner) {
    file.owner_ = std::move(owner);
    size_t begin = 0;
    for (TensorEntry& entry : file.entries_) {
      const auto bytes = static_cast<size_t>(*safetensors_bytes(entry.shape, entry.dtype));
      entry.data = data.subspan(begin, bytes);
      begin += bytes;
    }
  }

 private:
  static void index_names(SafetensorsFile& file) {
    file.by_name_.resize(file.entries_.size());
    std::iota(file.by_name_.begin(), file.by_name_.end(), 0U);
    std::sort(file.by_name_.begin(), file.by_name_.end(), [&](uint32_t a, uint32_t b) {
      return file.entries_[a].name < file.entries_[b].name;
    });
  }
};

namespace {

// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

Failure system_failure(std::string_view step, int error) {
  return user_error("{}: {}", step, std::generic_category().message(error));
}

Result<uint64_t> size_of_file(int fd) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return system_failure("read", errno);
  if (!S_ISREG(status.st_mode)) return user_error("open: not a file");
  return static_cast<uint64_t>(status.st_size);
}

// Fills `to` with the bytes from `offset` on; reading fewer is an error.
Status read_fully(int fd, uint64_t offset, std::span<std::byte> to) {
  size_t done = 0;
  while (done < to.size()) {
    const size_t want = std::min(to.size() - done, size_t{1} << 30);
    const ssize_t n = ::pread(fd, to.data() + done, want, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_failure("read", errno);
    if (n == 0)
      return user_error("read: the file was cut to {} bytes while it was read", offset + done);
    done += static_cast<size_t>(n);
  }
  return {};
}

// Allocates memory for bytes that the file really has. A sparse file may claim more than exist.
Result<std::shared_ptr<std::byte[]>> allocate(uint64_t bytes) {
  const uint64_t memory = machine_memory().physical;
  try {
    if (bytes <= memory) return std::make_shared_for_overwrite<std::byte[]>(bytes);
  } catch (const std::bad_alloc&) {  // the size is the file's: an error that names it
  }
  return user_error("read: its tensors take {} bytes, this machine has {}", bytes, memory);
}

// What torch.save writes: a zip, or a pickle of protocol 2 in old versions.
Status check_is_no_pickle(std::span<const std::byte, 8> first) {
  const auto begins = [&](std::string_view magic) {
    return std::memcmp(first.data(), magic.data(), magic.size()) == 0;
  };
  if (!begins("PK\3\4") && !begins("\x80\2\x8a\x0a")) return {};
  return user_error(
      "format: this is a file of torch.save, which can run any code when it is "
      "read; write it again in Python: safetensors.torch.save_file("
      "torch.load(PATH, weights_only=True), \"weights.safetensors\")");
}

Result<SafetensorsFile> read_file(const std::string& path) {
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) return system_failure("open", errno);
  CLEAVE_TRY(const uint64_t file_bytes, size_of_file(fd.get()));
  if (file_bytes < 8) return user_error("length: the file has {} bytes, at least 8", file_bytes);
  std::array<std::byte, 8> prefix{};
  CLEAVE_CHECK(read_fully(fd.get(), 0, prefix));
  CLEAVE_CHECK(check_is_no_pickle(prefix));
  const uint64_t length = read_length(prefix);
  CLEAVE_CHECK(check_length(length, file_bytes));
  std::string header(length, ' ');
  CLEAVE_CHECK(read_fully(fd.get(), 8, std::as_writable_bytes(std::span(header))));

  const uint64_t data_bytes = file_bytes - 8 - length;
  CLEAVE_TRY(SafetensorsFile file, SafetensorsHeaderReader::read(header, data_bytes));
  CLEAVE_TRY(const auto data, allocate(data_bytes));
  const std::span<std::byte> all(data.get(), data_bytes);
  CLEAVE_CHECK(read_fully(fd.get(), 8 + length, all));
  CLEAVE_TRY(const uint64_t bytes_now, size_of_file(fd.get()));
  if (bytes_now != file_bytes)
    return user_error("read: the file grew from {} to {} bytes while it was read", file_bytes,
                      bytes_now);
  SafetensorsHeaderReader::bind(file, all, data);
  return file;
}

Result<SafetensorsFile> read_bytes(std::vector<std::byte> bytes) {
  const auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  const std::span<const std::byte> all(*owner);
  if (all.size() < 8) return user_error("length: the file has {} bytes, at least 8", all.size());
  const uint64_t length = read_length(all.first<8>());
  CLEAVE_CHECK(check_length(length, all.size()));
  const std::span<const std::byte> text = all.subspan(8, length), data = all.subspan(8 + length);
  const std::string_view header(reinterpret_cast<const char*>(text.data()), text.size());
  CLEAVE_TRY(SafetensorsFile file, SafetensorsHeaderReader::read(header, data.size()));
  SafetensorsHeaderReader::bind(file, data, owner);
  return file;
}

}  // namespace

Result<SafetensorsFile> SafetensorsFile::open(const std::string& path) {
  Result<SafetensorsFile> file = read_file(path);
  if (!file.ok()) return std::move(file).failure().within(path);
  return file;
}

Result<SafetensorsFile> SafetensorsFile::from_bytes(std::vector<std::byte> bytes,
                                                    const std::string& name) {
  Result<SafetensorsFile> file = read_bytes(std::move(bytes));
  if (!file.ok()) return std::move(file).failure().within(name);
  return file;
}

const TensorEntry* SafetensorsFile::find(std::string_view name) const {
  const auto at = std::ranges::lower_bound(
      by_name_, name, {}, [this](uint32_t i) -> std::string_view { return entries_[i].name; });
  if (at == by_name_.end() || entries_[*at].name != name) return nullptr;
  return &entries_[*at];
}

}  // namespace cleave
