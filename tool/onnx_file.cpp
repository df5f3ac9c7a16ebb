#include "tool/onnx_file.h"

#include <charconv>

#include "import/onnx/tensor_data.h"
#include "tool/graph_file.h"
#include "tool/import_files.h"

namespace cleave::tool {
namespace {

// "x=1x3x224x224"
Status add_shape(const std::string& word, OnnxOptions& options) {
  const size_t equals = word.rfind('=');
  const auto refuse = [&] {
    return user_error("--shape {}: expected NAME=SIZES, such as x=1x3x224x224", word);
  };
  if (equals == std::string::npos || equals == 0) return refuse();
  std::vector<int64_t> shape;
  const char* at = word.data() + equals + 1;
  const char* const end = word.data() + word.size();
  while (at != end) {
    int64_t size = 0;
    const auto [next, error] = std::from_chars(at, end, size);
    if (error != std::errc() || size < 0 || (next != end && *next != 'x')) return refuse();
    shape.push_back(size);
    at = next == end ? end : next + 1;
  }
  options.shapes[word.substr(0, equals)] = std::move(shape);
  return {};
}

Result<OnnxOptions> options_of(const OnnxFiles& files) {
  OnnxOptions options;
  for (const std::string& word : files.shapes) CLEAVE_CHECK(add_shape(word, options));
  if (files.fixed.empty()) return options;
  CLEAVE_TRY(const auto tensors, read_tensors(files.fixed));
  for (const auto& [name, array] : tensors) options.fixed[name] = onnx::as_host_tensor(array);
  return options;
}

Json unsupported_calls(const onnx::Refusals& refusals) {
  Json list = Json::array();
  for (const auto& [why, calls] : refusals) {
    const size_t colon = why.find(": ");
    list.push_back({{"op", why.substr(0, colon)},
                    {"calls", calls},
                    {"why", colon == std::string::npos ? "" : why.substr(colon + 2)}});
  }
  return list;
}

ImportedFiles files_of(const onnx::ImportedModel& m, const std::string& path) {
  ImportedFiles out{m.program, m.weights,
                    fmt::format("{}: operator set {}, by {}\n", path, m.opset,
                                m.producer.empty() ? "an unnamed program" : m.producer)};
  for (const auto& [placeholder, name] : m.inputs)
    if (placeholder != name) out.notes[placeholder] = fmt::format("  \"{}\" in the file", name);
  return out;
}

}  // namespace

bool is_onnx(const std::string& path) { return path.ends_with(".onnx"); }

Status import_onnx_files(const OnnxFiles& files, const OpRegistry& ops) {
  CLEAVE_TRY(const OnnxOptions options, options_of(files));
  onnx::ImportReport report;
  const Result<onnx::ImportedModel> m = onnx::import_onnx(files.model, ops, options, &report);
  if (m.ok()) return write_import(files_of(*m, files.model), files.out, files.json);
  if (files.json && !report.refused.empty())
    CLEAVE_CHECK(print_uncovered(unsupported_calls(report.refused)));
  return m.failure();
}

}  // namespace cleave::tool
