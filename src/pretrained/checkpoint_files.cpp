#include "pretrained/checkpoint_files.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/printable.h"
#include "import/exported/json.h"
#include "pretrained/config_file.h"

namespace cleave::pretrained {
namespace {

namespace fs = std::filesystem;

// Of a file of torch.save, or an index of several.
Failure torch_file(const std::string& path) {
  const bool is_index = path.ends_with(".json");
  const std::string shards = (fs::path(path).parent_path() / "pytorch_model-*.bin").string();
  return user_error(
      "{}: files of torch.save can run any code when they are read; write it again in Python:\n"
      "  import {}torch, safetensors.torch\n"
      "  safetensors.torch.save_file({{k: v.contiguous().clone() {}for k, v in "
      "torch.load({}, weights_only=True).items()}}, \"model.safetensors\", {{\"format\": \"pt\"}})",
      path, is_index ? "glob, " : "",
      is_index ? fmt::format("for p in glob.glob(\"{}\") ", shards) : "",
      is_index ? "p" : "\"" + path + "\"");
}

bool is_torch_name(const std::string& path) {
  return std::ranges::any_of(
      std::initializer_list<std::string_view>{".bin", ".pt", ".pth", ".ckpt", ".bin.index.json"},
      [&](std::string_view end) { return path.ends_with(end); });
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// What a folder holds.
Result<std::string> file_in(const std::string& folder) {
  const fs::path root(folder);
  for (const char* name : {whole_name, index_name})
    if (is_there(root / name)) return (root / name).string();
  for (const char* name : {"pytorch_model.bin", "pytorch_model.bin.index.json"})
    if (is_there(root / name)) return torch_file((root / name).string());
  return user_error("{}: it has neither {} nor {}", folder, whole_name, index_name);
}

bool lies_in(const fs::path& file, const fs::path& folder) { return file.parent_path() == folder; }

// The shard's path, if it lies in the folder, or where the cache keeps what its snapshots link to:
//   models--gpt2/snapshots/COMMIT/model-00001-of-00002.safetensors -> ../../blobs/HASH
Result<std::string> shard_path(const std::string& name, const fs::path& folder) {
  if (name.empty() || name == "." || name == ".." || name.find('/') != name.npos ||
      name.find('\0') != name.npos)
    return user_error("weight_map names the file {}, expected one in the index's folder",
                      printable(name));
  std::error_code error;
  const fs::path root = fs::canonical(folder, error);
  if (error) return user_error("{}: {}", folder.string(), error.message());
  const fs::path found = fs::canonical(root / name, error);
  if (error) return user_error("weight_map names {}: {}", printable(name), error.message());
  const fs::path snapshots = root.parent_path();
  const bool is_cached =
      snapshots.filename() == "snapshots" && lies_in(found, snapshots.parent_path() / "blobs");
  if (!lies_in(found, root) && !is_cached)
    return user_error("weight_map names {}, a link that leads out of the index's folder",
                      printable(name));
  return found.string();
}

// Error (user): the file doesn't hold what the index lists for it.
Status check_shard(const std::string& name, const SafetensorsFile& file,
                   const std::vector<std::string>& listed) {
  const std::set<std::string_view> names(listed.begin(), listed.end());
  for (const std::string& tensor : listed)
    if (!file.find(tensor))
      return user_error("weight_map says that {} is in {}, where it isn't", printable(tensor),
                        printable(name));
  for (const TensorEntry& e : file.entries())
    if (!names.contains(e.name))
      return user_error("{} holds {}, which weight_map doesn't list there", printable(name),
                        printable(e.name));
  return {};
}

void append(CheckpointFiles& out, SafetensorsFile file) {
  out.entries.insert(out.entries.end(), file.entries().begin(), file.entries().end());
  out.files.push_back(std::move(file));
}

Status open_shards(const std::string& path, CheckpointFiles& out) {
  CLEAVE_TRY(const std::string text, read_text(path));
  CLEAVE_TRY(const WeightMap map, read_index(text, path));
  const fs::path folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : ".";
  std::vector<std::pair<std::string, std::string>> paths;  // all are checked before one is read
  for (const auto& [name, tensors] : map) {
    Result<std::string> shard = shard_path(name, folder);
    if (!shard.ok()) return std::move(shard).failure().within(path);
    paths.emplace_back(name, *shard);
  }
  for (const auto& [name, shard] : paths) {
    CLEAVE_TRY(SafetensorsFile file, SafetensorsFile::open(shard));
    Status fits = check_shard(name, file, map.at(name));
    if (!fits.ok()) return std::move(fits).failure().within(path);
    append(out, std::move(file));
  }
  return {};
}

Result<WeightMap> weight_map(const std::string& text) {
  simdjson::dom::parser parser;
  CLEAVE_TRY(const Element root, exported::parse_json(parser, text));
  CLEAVE_TRY(const auto object, exported::object_of(root, "index"));
  CLEAVE_TRY(const Element listed, exported::member(object, "weight_map"));
  CLEAVE_TRY(const auto members, exported::object_of(listed, "weight_map"));
  WeightMap map;
  std::set<std::string_view> seen;
  for (const simdjson::dom::key_value_pair field : members) {
    CLEAVE_TRY(std::string file,
               exported::text_of(field.value, "weight_map: " + printable(field.key)));
    if (!seen.insert(field.key).second)
      return user_error("weight_map lists {} twice", printable(field.key));
    map[std::move(file)].emplace_back(field.key);
  }
  if (map.empty()) return user_error("weight_map lists no tensors");
  return map;
}

}  // namespace

Result<WeightMap> read_index(const std::string& text, const std::string& name) {
  Result<WeightMap> map = weight_map(text);
  if (!map.ok()) return std::move(map).failure().within(name);
  return map;
}

Result<CheckpointFiles> open_checkpoint(const std::string& path) {
  CheckpointFiles out;
  out.path = path;
  std::error_code error;
  if (fs::is_directory(path, error)) { CLEAVE_TRY(out.path, file_in(path)); }
  if (is_torch_name(out.path)) return torch_file(out.path);
  if (out.path.ends_with(".json")) {
    CLEAVE_CHECK(open_shards(out.path, out));
    return out;
  }
  CLEAVE_TRY(SafetensorsFile file, SafetensorsFile::open(out.path));
  append(out, std::move(file));
  return out;
}

}  // namespace cleave::pretrained
