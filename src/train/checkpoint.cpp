// Checkpoints as .safetensors files.
#include "cleave/checkpoint.h"

#include "train/match_tensors.h"

namespace cleave {
namespace {

constexpr const char* version_key = "cleave_checkpoint";
constexpr const char* version = "1";

Status save(const std::string& path, const std::vector<PrefixedStore>& stores, Metadata metadata) {
  if (metadata.contains(version_key))
    return user_error("{}: metadata: {} is cleave's own", path, version_key);
  metadata[version_key] = version;
  std::vector<TensorEntry> entries;
  for (const LoadTarget& t : load_targets(stores))
    entries.push_back(entry_of(t.names[0], t.variable.value()));
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
  CLEAVE_TRY(const MatchedTensors matched, match_tensors(path, file, load_targets(stores), {}));
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
