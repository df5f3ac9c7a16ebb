// Checkpoints as .safetensors files.
#include "cleave/checkpoint.h"

#include <algorithm>

#include "trace/variable_state.h"
#include "train/match_tensors.h"

namespace cleave {
namespace {

constexpr const char* version_key = "cleave_checkpoint";
constexpr const char* version = "1";
constexpr std::string_view scale_names[] = {"optimizer.loss_scale", "optimizer.growth_tracker",
                                            "optimizer.skipped_steps"};

// Files written before the store kept learning rates have none, and those of steps that don't scale
// the loss have no scale.
void drop_missing_rates(std::vector<LoadTarget>& targets, const SafetensorsFile& file) {
  std::erase_if(targets, [&](const LoadTarget& t) {
    const std::string& name = t.names[0];
    const auto names = [&](std::string_view part) { return name.find(part) != name.npos; };
    return t.variable.kind() == VariableKind::state &&
           (names("optimizer.lr") || std::ranges::any_of(scale_names, names)) && !file.find(name);
  });
}

// A step that doesn't scale the loss skips the scale of a file.
SkipsName without_scale(const std::vector<LoadTarget>& targets) {
  const auto is_scale = [](std::string_view name) {
    return std::ranges::any_of(scale_names, [&](std::string_view s) { return name.ends_with(s); });
  };
  const bool scales =
      std::ranges::any_of(targets, [&](const LoadTarget& t) { return is_scale(t.names[0]); });
  return [=](std::string_view name) { return !scales && is_scale(name); };
}

Status save(const std::string& path, const std::vector<PrefixedStore>& stores, Metadata metadata) {
  if (metadata.contains(version_key))
    return user_error("{}: metadata: {} is cleave's own", path, version_key);
  metadata[version_key] = version;
  std::vector<TensorEntry> entries;
  const std::vector<LoadTarget> targets = load_targets(stores);
  CLEAVE_CHECK(check_no_averages(path, targets));
  for (const LoadTarget& t : targets)
    entries.push_back(entry_of(t.names[0], trace::Access::memory(t.variable)));
  return write_safetensors(path, entries, metadata);
}

Result<Metadata> load(const std::string& path, const std::vector<PrefixedStore>& stores) {
  CLEAVE_TRY(SafetensorsFile file, SafetensorsFile::open(path));
  const auto known = file.metadata().find(version_key);
  if (known == file.metadata().end())
    return user_error(
        "{}: version: this is no checkpoint of cleave; load_weights takes weights "
        "alone",
        path);
  if (known->second != version)
    return user_error("{}: version: the checkpoint has version {}, expected {}", path,
                      known->second, version);
  std::vector<LoadTarget> targets = load_targets(stores);
  CLEAVE_CHECK(check_no_averages(path, targets));
  drop_missing_rates(targets, file);
  CLEAVE_TRY(const MatchedTensors matched,
             match_tensors(path, file.entries(), targets, {}, without_scale(targets)));
  copy_tensors(matched.matches);
  Metadata about = file.metadata();
  about.erase(version_key);
  return about;
}

Result<CheckpointInfo> inspect(const std::string& path) {
  CLEAVE_TRY(SafetensorsFile file, SafetensorsFile::open(path));
  CheckpointInfo info;
  info.metadata = file.metadata();
  for (const TensorEntry& e : file.entries()) info.tensors.emplace_back(e.name, type_text(e));
  return info;
}

}  // namespace

void save_checkpoint(const std::string& path, const Store& store, const Metadata& metadata) {
  save_checkpoint(path, {{"", store}}, metadata);
}
Metadata load_checkpoint(const std::string& path, const Store& store) {
  return load_checkpoint(path, {{"", store}});
}
void save_checkpoint(const std::string& path, const std::vector<PrefixedStore>& stores,
                     const Metadata& metadata) {
  value_or_throw(save(path, stores, metadata));
}
Metadata load_checkpoint(const std::string& path, const std::vector<PrefixedStore>& stores) {
  return value_or_throw(load(path, stores));
}
CheckpointInfo inspect_checkpoint(const std::string& path) { return value_or_throw(inspect(path)); }

}  // namespace cleave
