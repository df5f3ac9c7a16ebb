#include "import/onnx/import_onnx.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <algorithm>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/clear_failure.h"
#include "base/descriptor.h"
#include "import/onnx/importer.h"
#include "import/onnx/read_model.h"
#include "ir/edit.h"
#include "ir/text.h"

namespace cleave::onnx {
namespace {

constexpr int64_t largest_file = int64_t{1} << 31;

Result<std::vector<std::byte>> read_file(const std::string& path) {
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info{};
  if (!fd.is_open() || ::fstat(fd.get(), &info) != 0)
    return user_error("cannot be read: {}", std::strerror(errno));
  if (!S_ISREG(info.st_mode)) return user_error("is no file");
  if (info.st_size > largest_file)
    return user_error("has {} bytes, expected at most 2 GiB", info.st_size);
  std::vector<std::byte> bytes(static_cast<size_t>(info.st_size));
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t got = ::read(fd.get(), bytes.data() + done, bytes.size() - done);
    if (got <= 0) return user_error("cannot be read to its end");
    done += static_cast<size_t>(got);
  }
  return bytes;
}

Status check_versions(const ModelProto& model) {
  if (!model.graph) return user_error("holds no graph");
  const auto opset = model.opsets.find("");
  if (opset == model.opsets.end()) {
    if (model.opsets.empty()) return user_error("names no operator set");
    return {};
  }
  if (opset->second < first_opset || opset->second > last_opset)
    return unsupported("operator set {}, expected {} to {}", opset->second, first_opset,
                       last_opset);
  return {};
}

// What no call reads of what the file holds.
void drop_unread(Graph& g) {
  eliminate_dead_code(g);
  std::vector<bool> returned(g.value_capacity());
  for (const Return& r : g.returns()) {
    returned[r.value.v] = true;
    if (r.target.valid()) returned[r.target.v] = true;
  }
  g.filter_placeholders([&](const Placeholder& p) {
    if (p.role != Role::param && p.role != Role::constant) return true;
    return g.use_count(p.value) > 0 || returned[p.value.v];
  });
}

Failure all_of(const Refusals& refusals) {
  std::vector<std::pair<std::string, int64_t>> sorted(refusals.begin(), refusals.end());
  std::ranges::stable_sort(sorted,
                           [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text = fmt::format("{} kinds of calls aren't covered", sorted.size());
  for (const auto& [why, count] : sorted) text += fmt::format("\n  {} x {}", count, why);
  return unsupported("{}", text);
}

}  // namespace

Result<ImportedModel> import_onnx(const ModelBytes& file, const OpRegistry& ops,
                                  const OnnxOptions& options, ImportReport* report) {
  const auto within = [&](Failure f) { return clear_failure(std::move(f).within(file.name)); };
  Result<ModelProto> model = read_model(file.bytes);
  if (!model.ok()) return within(std::move(model).failure());
  if (Status s = check_versions(*model); !s.ok()) return within(std::move(s).failure());
  ImportedModel out;
  out.producer = model->producer;
  out.opset = model->opsets.contains("") ? model->opsets.at("") : 0;
  Importer importer(*model, ops, options, file.folder);
  Status done = importer.run(out.program.main);
  if (report) {
    report->refused = importer.refusals();
    report->wanted = importer.wanted();
  }
  if (done.ok() && !importer.refusals().empty()) done = all_of(importer.refusals());
  if (!done.ok()) return within(std::move(done).failure());
  drop_unread(out.program.main);
  if (Status s = verify(out.program); !s.ok()) return within(std::move(s).failure());
  out.weights = importer.take_weights();
  out.inputs = importer.input_names();
  return out;
}

Result<ImportedModel> import_onnx(const std::string& path, const OpRegistry& ops,
                                  const OnnxOptions& options, ImportReport* report) {
  Result<std::vector<std::byte>> bytes = read_file(path);
  if (!bytes.ok()) return std::move(bytes).failure().within(path);
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  return import_onnx({*bytes, path, folder.empty() ? "." : folder.string()}, ops, options, report);
}

}  // namespace cleave::onnx
