// From an archive to a model, if all of its operators are covered.
#include "import/exported/model.h"

#include <algorithm>

#include "base/clear_failure.h"
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

// Sizes of 0 and 1 that the ranges leave open are run, unless the program can't be read with them:
// where a dim of min(1, s) and one of 1 are added, s is 1 or more.
Result<ImportedModel> read_widest(const ZipArchive& zip, const ArchivedModel& model,
                                  const OpRegistry& ops, const ImportOptions& options) {
  int64_t most = 0;
  for (const auto& [name, range] : model.program.ranges)
    if (const int64_t least = range.least.value_or(0); least <= largest_open_size)
      most = std::max(most, least);
  for (int64_t least = 0; least < most; ++least)
    if (Result<ImportedModel> read = ModelReader(zip, model, ops, least).read(options); read.ok())
      return read;
  return ModelReader(zip, model, ops, most).read(options);
}

}  // namespace
}  // namespace exported

Result<ImportedModel> import_exported(const ZipArchive& zip, const OpRegistry& ops,
                                      const ImportOptions& options, UncoveredCalls* uncovered) {
  const Result<exported::ArchivedModel> model = exported::read_model(zip);
  if (!model.ok()) return clear_failure(model.failure());
  const auto within = [&](Failure f) { return clear_failure(std::move(f).within(zip.path())); };
  if (Status s = exported::check_covered(model->program, ops, uncovered); !s.ok())
    return within(std::move(s).failure());
  Result<ImportedModel> read = exported::read_widest(zip, *model, ops, options);
  if (!read.ok()) return within(std::move(read).failure());
  return read;
}

}  // namespace cleave
