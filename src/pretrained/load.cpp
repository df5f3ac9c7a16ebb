#include "pretrained/load.h"

#include "pretrained/checkpoint_files.h"
#include "pretrained/names.h"
#include "train/match_tensors.h"

namespace cleave::pretrained {
namespace {

// Error (user): every name that the options don't allow to be missing or unexpected.
Status check_names(const std::string& path, const LoadReport& report, const LoadOptions& options) {
  std::string text;
  const auto list = [&](bool is_allowed, const std::vector<std::string>& names, const char* what,
                        const char* option) {
    if (is_allowed || names.empty()) return;
    text += fmt::format("\n{} {}, which {{.{} = true}} allows:", names.size(), what, option);
    for (const std::string& name : names) text += "\n  " + name;
  };
  list(options.allow_missing, report.missing, "missing", "allow_missing");
  list(options.allow_extra, report.extra, "unexpected", "allow_extra");
  if (text.empty()) return {};
  return user_error("{}: tensors: the file does not fit the model:{}", path, text);
}

}  // namespace

Result<LoadReport> load_checkpoint(const std::string& path, const nn::Module& model,
                                   const Facts& facts, const LoadOptions& options) {
  CLEAVE_TRY(const CheckpointFiles checkpoint, open_checkpoint(path));
  const Store store = model.store();
  const NameMap names(facts, store);
  LoadOptions all = options;
  all.allow_missing = all.allow_extra = all.cast = true;
  all.rename = [&](const std::string& name) {
    const std::string renamed = options.rename ? options.rename(name) : name;
    return renamed.empty() ? renamed : names.model_name(renamed);
  };
  CLEAVE_TRY(MatchedTensors matched,
             match_tensors(checkpoint.path, checkpoint.entries, load_targets({{"", store}}), all,
                           [&](std::string_view name) { return names.is_ignored(name); }));
  CLEAVE_CHECK(check_names(checkpoint.path, matched.report, options));
  copy_tensors(matched.matches);
  return std::move(matched.report);
}

}  // namespace cleave::pretrained
