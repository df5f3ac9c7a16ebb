// state_dicts and tensors as .safetensors files.
#include "cleave/weights.h"

#include <algorithm>
#include <list>

#include "trace/variable_state.h"
#include "train/match_tensors.h"

namespace cleave {
namespace {

bool is_optimizer_state(const std::string& name) {
  return name.starts_with("optimizer.") || name == "rng";
}

Result<LoadReport> load(const std::string& path, const nn::Module& model,
                        const LoadOptions& options) {
  CLEAVE_TRY(SafetensorsFile file, SafetensorsFile::open(path));
  const std::vector<LoadTarget> targets = load_targets({{"", model.store()}});
  CLEAVE_CHECK(check_no_averages(path, targets));
  Result<MatchedTensors> matched = match_tensors(path, file.entries(), targets, options);
  if (!matched.ok()) {
    const bool is_checkpoint = file.metadata().contains("cleave_checkpoint");
    const bool has_state =
        std::ranges::any_of(file.entries(), is_optimizer_state, &TensorEntry::name);
    if (!is_checkpoint || !has_state || options.allow_extra) return std::move(matched).failure();
    return user_error(
        "{}; it is a checkpoint, whose weights alone are loaded with "
        "{{.allow_extra = true}}",
        matched.failure().message);
  }
  copy_tensors(matched->matches);
  return std::move(matched->report);
}

Status save(const std::string& path, const nn::Module& model, const Metadata& metadata) {
  std::vector<TensorEntry> entries;
  // A state_dict holds a tied weight under each of its names.
  for (const LoadTarget& t : load_targets({{"", model.store()}}))
    for (const std::string& name : t.names)
      entries.push_back(entry_of(name, trace::Access::memory(t.variable)));
  return write_safetensors(path, entries, metadata);
}

Result<NamedTensors> load(const std::string& path) {
  CLEAVE_TRY(SafetensorsFile file, SafetensorsFile::open(path));
  NamedTensors out;
  for (const TensorEntry& e : file.entries()) out.emplace(e.name, host_tensor(e));
  return out;
}

Status save(const std::string& path, const NamedTensors& tensors, const Metadata& metadata) {
  std::vector<TensorEntry> entries;
  std::list<HostTensor> copies;  // what an entry refers to
  for (const auto& [name, t] : tensors)
    entries.push_back(entry_of(name, t.is_row_major() ? t : copies.emplace_back(t.contiguous())));
  return write_safetensors(path, entries, metadata);
}

}  // namespace

LoadReport load_weights(const std::string& path, const nn::Module& model,
                        const LoadOptions& options) {
  return value_or_throw(load(path, model, options));
}
void save_weights(const std::string& path, const nn::Module& model, const Metadata& metadata) {
  value_or_throw(save(path, model, metadata));
}
NamedTensors load_tensors(const std::string& path) { return value_or_throw(load(path)); }
void save_tensors(const std::string& path, const NamedTensors& tensors, const Metadata& metadata) {
  value_or_throw(save(path, tensors, metadata));
}

}  // namespace cleave
