// NumPy's .npy files.
//
//   \x93NUMPY  major minor  length (u16; u32 from version 2 on)  header  data
//   header     {'descr': '<f4', 'fortran_order': False, 'shape': (1000, 28, 28), }
//
// The format: numpy/lib/format.py, versions 1.0 to 3.0.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>

#include "base/printable.h"
#include "cleave/data.h"
#include "data/input_file.h"

namespace cleave::data {
namespace {

struct NpyFile {
  InputFile file;
  TensorType row;
  int64_t rows = 0, data_at = 0;
};

constexpr std::pair<std::string_view, DType> descriptions[] = {
    {"<f8", DType::f64}, {"<f4", DType::f32}, {"<f2", DType::f16},
    {"<i8", DType::i64}, {"<i4", DType::i32}, {"<i2", DType::i16},
    {"|i1", DType::i8},  {"|u1", DType::u8},  {"|b1", DType::boolean}};

// What follows 'key': in the header.
std::optional<std::string_view> value_of(std::string_view header, std::string_view key) {
  for (const char quote : {'\'', '"'}) {
    const std::string quoted = quote + std::string(key) + quote;
    const size_t at = header.find(quoted);
    if (at == std::string_view::npos) continue;
    const size_t colon = header.find_first_not_of(' ', at + quoted.size());
    if (colon == std::string_view::npos || header[colon] != ':') continue;
    const size_t begin = header.find_first_not_of(' ', colon + 1);
    if (begin != std::string_view::npos) return header.substr(begin);
  }
  return std::nullopt;
}

std::optional<std::vector<int64_t>> shape_of(std::string_view text) {
  const size_t end = text.find(')');
  if (!text.starts_with('(') || end == std::string_view::npos) return std::nullopt;
  std::vector<int64_t> shape;
  for (const char* at = text.data() + 1; at < text.data() + end;) {
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    int64_t size = 0;
    const auto [next, error] = std::from_chars(at, text.data() + end, size);
    if (error != std::errc() || size < 0) return std::nullopt;
    shape.push_back(size);
    at = next;
  }
  return shape;
}

Result<NpyFile> open_npy(const std::string& path) {
  CLEAVE_TRY(InputFile file, InputFile::open(path));
  std::array<std::byte, 12> begin = {};
  const int64_t read = std::min<int64_t>(file.size(), std::ssize(begin));
  CLEAVE_CHECK(file.read(0, std::span(begin).first(static_cast<size_t>(read))));
  const auto byte = [&](size_t k) { return std::to_integer<int64_t>(begin[k]); };
  const int64_t version = byte(6);
  if (read < 12 || std::memcmp(begin.data(), "\x93NUMPY", 6) != 0 || version < 1 || version > 3)
    return user_error("{}: format: this is no .npy file of version 1 to 3", path);
  const int64_t head = version == 1 ? 10 : 12;
  const int64_t length = version == 1 ? byte(8) | byte(9) << 8
                                      : byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24;
  if (length > 1 << 20 || head + length > file.size())
    return user_error("{}: format: its header of {} bytes is longer than the file, or 1 MiB", path,
                      length);
  std::string header(static_cast<size_t>(length), ' ');
  CLEAVE_CHECK(file.read(head, std::as_writable_bytes(std::span(header))));

  const auto descr = value_of(header, "descr"), order = value_of(header, "fortran_order");
  const auto shape_text = value_of(header, "shape");
  const auto shape = shape_text ? shape_of(*shape_text) : std::nullopt;
  if (!descr || !order || !shape)
    return user_error("{}: format: its header lacks descr, fortran_order or shape: {}", path,
                      unquoted_printable(header));
  if (!order->starts_with("False"))
    return user_error("{}: fortran_order: it is column-major; save numpy.ascontiguousarray(x)",
                      path);
  if (shape->empty()) return user_error("{}: shape: it has no rows: ()", path);
  for (const auto& [text, dtype] : descriptions) {
    if (descr->substr(1, text.size()) != text) continue;
    TensorType row{dtype, {shape->begin() + 1, shape->end()}};
    // A dim of 0 hides no other one, as rows are counted by themselves.
    __extension__ unsigned __int128 bytes = static_cast<uint64_t>(size_of(dtype));
    for (const int64_t d : *shape) {
      bytes *= static_cast<uint64_t>(std::max<int64_t>(d, 1));
      if (bytes > uint64_t{1} << 60) return user_error("{}: shape: it is beyond 2^60 bytes", path);
    }
    if (std::ranges::find(*shape, 0) != shape->end()) bytes = 0;
    if (static_cast<int64_t>(bytes) != file.size() - head - length)
      return user_error("{}: shape: it says {} bytes of data, the file has {}", path,
                        static_cast<int64_t>(bytes), file.size() - head - length);
    return NpyFile{std::move(file), std::move(row), (*shape)[0], head + length};
  }
  return unsupported("{}: descr: {}, expected one of <f8 <f4 <f2 <i8 <i4 <i2 |i1 |u1 |b1", path,
                     unquoted_printable(descr->substr(0, descr->find(','))));
}

class NpyRows final : public Source {
 public:
  explicit NpyRows(std::vector<NpyFile> files) : files_(std::move(files)) {}
  int64_t size() const override { return files_[0].rows; }
  std::vector<TensorType> types() const override {
    std::vector<TensorType> out;
    for (const NpyFile& f : files_) out.push_back(f.row);
    return out;
  }
  void read(int64_t example, std::span<void* const> to) const override {
    for (size_t k = 0; k < files_.size(); ++k) {
      const NpyFile& f = files_[k];
      const int64_t bytes = f.row.bytes();
      auto* into = static_cast<std::byte*>(to[k]);
      value_or_throw(f.file.read(f.data_at + example * bytes, {into, static_cast<size_t>(bytes)}));
      if (f.row.dtype == DType::boolean)
        for (int64_t i = 0; i < bytes; ++i) into[i] = std::byte{into[i] != std::byte{0}};
    }
  }

 private:
  std::vector<NpyFile> files_;
};

}  // namespace

SourcePtr npy(const std::vector<std::string>& paths) {
  if (paths.empty()) throw_failure(user_error("data::npy: there is no file"));
  std::vector<NpyFile> files;
  for (const std::string& path : paths) {
    files.push_back(value_or_throw(open_npy(path)));
    if (files.back().rows != files[0].rows)
      throw_failure(user_error("{}: it has {} rows, {} has {}", path, files.back().rows, paths[0],
                               files[0].rows));
  }
  return std::make_shared<NpyRows>(std::move(files));
}

}  // namespace cleave::data
