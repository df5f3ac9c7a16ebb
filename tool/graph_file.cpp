#include "tool/graph_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/write_file.h"
#include "import/exported/composites.h"
#include "import/exported/model.h"
#include "interp/array_memory.h"
#include "tool/onnx_file.h"
#include "tool/standard_streams.h"

namespace cleave::tool {
namespace {

constexpr size_t largest_text_mib = 4096;
constexpr size_t largest_program_mib = 256;  // 100,000 nodes take about 10

struct Closer {
  void operator()(std::FILE* f) const {
    if (f != stdin) std::fclose(f);
  }
};

Result<std::string> read_bytes(const std::string& path, size_t largest_mib) {
  const auto too_large = [&] { return user_error("{}: is larger than {} MiB", path, largest_mib); };
  const size_t largest = largest_mib << 20;
  std::unique_ptr<std::FILE, Closer> f(path == "-" ? stdin : std::fopen(path.c_str(), "rb"));
  if (!f) return user_error("{}: cannot be read: {}", path, std::strerror(errno));
  struct stat info{};
  if (fstat(fileno(f.get()), &info) == 0 && S_ISDIR(info.st_mode))
    return user_error("{}: is a folder, a file was expected", path);
  if (S_ISREG(info.st_mode) && static_cast<size_t>(info.st_size) > largest) return too_large();
  std::string text;
  char buffer[1 << 16];
  while (size_t n = std::fread(buffer, 1, sizeof buffer, f.get())) {
    if (text.size() + n > largest) return too_large();
    text.append(buffer, n);
  }
  if (std::ferror(f.get())) return user_error("{}: cannot be read: {}", path, std::strerror(errno));
  return text;
}

}  // namespace

Result<std::string> read_text(const std::string& path) {
  return read_bytes(path, largest_text_mib);
}

Status write_text(const std::string& path, const std::string& text) {
  if (path != "-") return write_file(path, text);
  put(text);
  return check_stdout();
}

namespace {

// A complex tensor as graphs have it: its last dim is (real part, imaginary part).
Array parts_from_memory(std::vector<int64_t> shape, const std::byte* data) {
  shape.push_back(2);
  return from_memory(DType::f32, shape, data);
}

Result<Program> parsed(const std::string& text, const std::string& path, const OpRegistry& ops) {
  CLEAVE_TRY(Program p,
             parse(text, path == "-" ? "stdin" : path, ops, exported::aten_composites()));
  if (Status s = verify(p); !s.ok()) return Failure(s.failure()).within(path);
  return p;
}

// Weights as the engines read them.
template <class Imported>
Model model_of(Imported imported) {
  Model m{std::move(imported.program), {}};
  for (const auto& [name, t] : imported.weights) {
    const auto* const data = static_cast<const std::byte*>(t.data());
    m.weights.emplace(name, t.dtype() == DType::c64 ? parts_from_memory(t.shape(), data)
                                                    : from_memory(t.dtype(), t.shape(), data));
  }
  return m;
}

Result<Model> exported_model(const ZipArchive& zip, const OpRegistry& ops, WeightBytes weights) {
  CLEAVE_TRY(ImportedModel imported, import_exported(zip, ops, {.weights = weights}));
  return model_of(std::move(imported));
}

Result<Model> read_any(const std::string& path, const OpRegistry& ops, WeightBytes weights) {
  if (path != "-" && path.ends_with(".pt2")) {
    CLEAVE_TRY(const ZipArchive zip, ZipArchive::open(path));
    return exported_model(zip, ops, weights);
  }
  if (is_onnx(path)) {
    CLEAVE_TRY(onnx::ImportedModel imported, onnx::import_onnx(path, ops));
    return model_of(std::move(imported));
  }
  CLEAVE_TRY(const std::string text, read_bytes(path, largest_program_mib));
  if (ZipArchive::begins(text)) {
    const auto bytes = std::as_bytes(std::span(text));
    CLEAVE_TRY(const ZipArchive zip,
               ZipArchive::from_bytes({bytes.begin(), bytes.end()}, path == "-" ? "stdin" : path));
    return exported_model(zip, ops, weights);
  }
  CLEAVE_TRY(Program p, parsed(text, path, ops));
  return Model{std::move(p), {}};
}

}  // namespace

Result<Model> read_model(const std::string& path, const OpRegistry& ops) {
  return read_any(path, ops, WeightBytes::read);
}

Result<Program> read_program(const std::string& path, const OpRegistry& ops) {
  CLEAVE_TRY(Model m, read_any(path, ops, WeightBytes::skipped));
  return std::move(m.program);
}

Result<std::map<std::string, Array>> read_inputs(const std::string& path,
                                                 std::map<std::string, Array> weights) {
  std::map<std::string, Array> out;
  if (!path.empty()) { CLEAVE_TRY(out, read_tensors(path)); }
  out.merge(weights);
  return out;
}

Result<SafetensorsFile> open_tensors(const std::string& path) {
  if (path != "-") return SafetensorsFile::open(path);
  CLEAVE_TRY(std::string text, read_bytes(path, largest_text_mib));
  auto bytes = std::as_bytes(std::span(text));
  return SafetensorsFile::from_bytes({bytes.begin(), bytes.end()}, "stdin");
}

Result<std::map<std::string, Array>> read_tensors(const std::string& path) {
  CLEAVE_TRY(SafetensorsFile file, open_tensors(path));
  std::map<std::string, Array> out;
  for (const TensorEntry& e : file.entries()) {
    if (e.dtype == DType::c64)
      out.emplace(e.name, parts_from_memory(e.shape, e.data.data()));
    else
      out.emplace(e.name, from_memory(e.dtype, e.shape, e.data.data()));
  }
  return out;
}

namespace {

// Entries of a file, and the bytes that they refer to.
struct Entries {
  explicit Entries(const std::map<std::string, Array>& tensors) {
    memory.reserve(tensors.size());
    for (const auto& [name, array] : tensors) {
      memory.push_back(to_memory(array));
      list.push_back({name, array.dtype, array.shape, memory.back()});
    }
  }
  std::vector<std::vector<std::byte>> memory;
  std::vector<TensorEntry> list;
};

}  // namespace

Result<SafetensorsFile> as_file(const std::map<std::string, Array>& tensors,
                                const std::string& name) {
  std::vector<std::byte> bytes;
  CLEAVE_CHECK(write_safetensors(name, Entries(tensors).list, {}, [&](auto pieces) {
    for (const std::span<const std::byte> piece : pieces)
      bytes.insert(bytes.end(), piece.begin(), piece.end());
    return Status();
  }));
  return SafetensorsFile::from_bytes(std::move(bytes), name);
}

Status write_tensors(const std::string& path, const std::map<std::string, Array>& tensors) {
  const Entries entries(tensors);
  if (path != "-") return write_safetensors(path, entries.list);
  return write_safetensors("stdout", entries.list, {}, [](auto pieces) {
    for (const std::span<const std::byte> piece : pieces)
      put({reinterpret_cast<const char*>(piece.data()), piece.size()});
    return check_stdout();
  });
}

Status print_json(const Json& json) {
  put(json.text() + "\n");
  return check_stdout();
}

}  // namespace cleave::tool
