#include "pretrained/save.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/write_file.h"
#include "pretrained/checkpoint_files.h"
#include "trace/variable_state.h"
#include "train/match_tensors.h"

namespace cleave::pretrained {
namespace {

namespace fs = std::filesystem;

using Shard = std::vector<TensorEntry>;

// In the order of the model: a shard is full where the next tensor would exceed the limit.
std::vector<Shard> shards_of(const Store& store, int64_t max_bytes) {
  std::vector<Shard> shards(1);
  int64_t bytes = 0;
  for (const auto& [name, variable] : store.entries()) {
    const HostTensor& value = trace::Access::memory(variable);
    if (!shards.back().empty() && value.bytes() > max_bytes - bytes) {
      shards.emplace_back();
      bytes = 0;
    }
    shards.back().push_back(entry_of(name, value));
    bytes += value.bytes();
  }
  return shards;
}

std::string shard_name(size_t k, size_t count) {
  return fmt::format("model-{:05}-of-{:05}.safetensors", k + 1, count);
}

std::string index_of(const std::vector<Shard>& shards) {
  int64_t bytes = 0;
  std::map<std::string, std::string> files;
  for (size_t k = 0; k < shards.size(); ++k)
    for (const TensorEntry& e : shards[k]) {
      files.emplace(e.name, shard_name(k, shards.size()));
      bytes += static_cast<int64_t>(e.data.size());
    }
  std::string map;
  for (const auto& [name, file] : files)  // names of modules take no escapes
    map += fmt::format("{}\n    \"{}\": \"{}\"", map.empty() ? "" : ",", name, file);
  return fmt::format(
      "{{\n  \"metadata\": {{\n    \"total_size\": {}\n  }},\n  \"weight_map\": {{{}\n  }}\n}}\n",
      bytes, map);
}

// Whether a file of the folder is one of another save, "model-00001-of-00003.safetensors".
bool is_shard(const std::string& name) {
  const std::string pattern = "model-#####-of-#####.safetensors";
  return std::ranges::equal(
      name, pattern, [](char c, char p) { return p == '#' ? c >= '0' && c <= '9' : c == p; });
}

// transformers would read what an earlier save has left.
void remove_others(const fs::path& folder, const std::set<std::string>& written) {
  std::error_code error;
  std::vector<fs::path> old;
  for (const fs::directory_entry& e : fs::directory_iterator(folder, error)) {
    const std::string name = e.path().filename().string();
    if ((name == whole_name || name == index_name || is_shard(name)) && !written.contains(name))
      old.push_back(e.path());
  }
  for (const fs::path& path : old) fs::remove(path, error);
}

}  // namespace

Status save_checkpoint(const std::string& folder, const nn::Module& model, const ConfigFile& file,
                       const Facts& facts, DType dtype, int64_t max_shard_bytes) {
  if (max_shard_bytes < 1)
    return user_error("save: max_shard_bytes is {}, expected 1 or more", max_shard_bytes);
  CLEAVE_CHECK(make_folder(folder));
  const fs::path root(folder);
  const Store store = model.store();
  const std::vector<Shard> shards = shards_of(store, max_shard_bytes);
  const SafetensorsMetadata metadata = {{"format", "pt"}};  // which transformers asks for
  std::set<std::string> written;
  for (size_t k = 0; k < shards.size(); ++k) {
    const std::string name = shards.size() == 1 ? whole_name : shard_name(k, shards.size());
    CLEAVE_CHECK(write_safetensors((root / name).string(), shards[k], metadata));
    written.insert(name);
  }
  if (shards.size() > 1) {
    CLEAVE_CHECK(write_file((root / index_name).string(), index_of(shards)));
    written.insert(index_name);
  }
  CLEAVE_CHECK(write_file((root / "config.json").string(), saved_config(file, facts, dtype)));
  remove_others(root, written);
  return {};
}

}  // namespace cleave::pretrained
