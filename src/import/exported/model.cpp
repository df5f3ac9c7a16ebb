// From an archive to a model, if all of its operators are covered.
#include "import/exported/model.h"

#include "import/exported/model_reader.h"
#include "import/exported/target.h"

namespace cleave {

namespace exported {
namespace {

Status check_covered(const Program& p, const OpRegistry& ops, UncoveredCalls* report) {
  const UncoveredCalls found = uncovered(p.graph, ops);
  if (report) *report = found;
  if (found.empty()) return {};
  std::string list;
  for (const auto& [op, calls] : found)
    list +=
        fmt::format("{}{} ({} call{})", list.empty() ? "" : ", ", op, calls, calls == 1 ? "" : "s");
  return unsupported(
      "{} operator{} not covered: {}; run_decompositions() in Python may take them "
      "apart",
      found.size(), found.size() == 1 ? " is" : "s are", list);
}

}  // namespace
}  // namespace exported

Result<ImportedModel> import_exported(const ZipArchive& zip, const OpRegistry& ops,
                                      const ImportOptions& options, UncoveredCalls* uncovered) {
  CLEAVE_TRY(exported::ArchivedModel model, exported::read_model(zip));
  if (Status s = exported::check_covered(model.program, ops, uncovered); !s.ok())
    return std::move(s).failure().within(zip.path());
  Result<ImportedModel> read = exported::ModelReader(zip, std::move(model), ops).read(options);
  if (!read.ok()) return std::move(read).failure().within(zip.path());
  return read;
}

}  // namespace cleave
