#include "tool/onnx_file.h"

#include <charconv>

#include "base/write_file.h"
#include "import/onnx/tensor_data.h"
#include "import/safetensors.h"
#include "ir/text.h"
#include "tool/graph_file.h"

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

// What stands in summary.txt.
std::string summary_of(const onnx::ImportedModel& m, const std::string& path) {
  const Graph& g = m.program.main;
  std::string text = fmt::format("{}: operator set {}, by {}\n", path, m.opset,
                                 m.producer.empty() ? "an unnamed program" : m.producer);
  for (const Placeholder& p : g.placeholders()) {
    const std::string& name = g.name(p.value);
    text += fmt::format("{:<10} %{}: {}{}", name_of(p.role), name, g.type(p.value).text(),
                        p.wants_grad ? " grad" : "");
    if (const auto in = m.inputs.find(name); in != m.inputs.end() && in->second != name)
      text += fmt::format("  \"{}\" in the file", in->second);
    text += "\n";
  }
  for (size_t k = 0; k < g.returns().size(); ++k)
    text += fmt::format("out.{:<6} {}\n", k, g.type(g.returns()[k].value).text());
  std::map<std::string, int64_t> calls;
  for (const NodeId n : g.order()) ++calls[g.node(n).op->name];
  text += fmt::format("{} calls:", g.node_count());
  for (const auto& [op, count] : calls) text += fmt::format(" {} {}", count, op);
  return text + "\n";
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

Status write_weights(const std::string& path, const onnx::ImportedModel& m) {
  std::vector<TensorEntry> entries;
  for (const auto& [name, t] : m.weights)
    entries.push_back({name,
                       t.dtype(),
                       t.shape(),
                       {static_cast<const std::byte*>(t.data()), static_cast<size_t>(t.bytes())}});
  return write_safetensors(path, entries);
}

}  // namespace

bool is_onnx(const std::string& path) { return path.ends_with(".onnx"); }

Status import_onnx_files(const OnnxFiles& files, const OpRegistry& ops) {
  if (files.out.empty() || files.out == "-") return user_error("-o: expected a folder");
  CLEAVE_TRY(const OnnxOptions options, options_of(files));
  onnx::ImportReport report;
  const Result<onnx::ImportedModel> m = onnx::import_onnx(files.model, ops, options, &report);
  if (!m.ok()) {
    if (files.json && !report.refused.empty())
      CLEAVE_CHECK(print_json({{"nodes", 0}, {"unsupported", unsupported_calls(report.refused)}}));
    return m.failure();
  }
  const std::string summary = summary_of(*m, files.model);
  CLEAVE_CHECK(make_folder(files.out));
  CLEAVE_CHECK(write_file(files.out + "/model.clv", print(m->program.main)));
  CLEAVE_CHECK(write_weights(files.out + "/weights.safetensors", *m));
  CLEAVE_CHECK(write_file(files.out + "/summary.txt", summary));
  if (!files.json) return write_text("-", summary);
  return print_json({{"nodes", m->program.main.node_count()},
                     {"unsupported", Json::array()},
                     {"graph", files.out + "/model.clv"},
                     {"weights", files.out + "/weights.safetensors"},
                     {"summary", files.out + "/summary.txt"}});
}

}  // namespace cleave::tool
