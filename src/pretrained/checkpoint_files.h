// The files of a checkpoint: one .safetensors, or shards with an index.
//
//   model.safetensors.index.json
//     {"metadata": {"total_size": 2468},
//      "weight_map": {"wte.weight": "model-00001-of-00002.safetensors", ...}}
//
// An index is untrusted: a shard lies in the index's folder, under a plain name, and is no link
// out of it (but into the `blobs` of Hugging Face's cache, whose snapshots are links); what it
// lists is what its files hold.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "import/safetensors.h"

namespace cleave::pretrained {

inline constexpr const char* whole_name = "model.safetensors";
inline constexpr const char* index_name = "model.safetensors.index.json";

struct CheckpointFiles {
  std::string path;  // for errors
  std::vector<SafetensorsFile> files;
  std::vector<TensorEntry> entries;  // of all files, in order; they refer to their memory
};

// `path` is a folder, an index or a .safetensors. Errors (user): no such file; one of torch.save,
// with the way to convert it; an index that isn't as above; those of SafetensorsFile.
Result<CheckpointFiles> open_checkpoint(const std::string& path);

// The tensors that an index lists, by file. `name` stands for the path in errors.
using WeightMap = std::map<std::string, std::vector<std::string>>;
Result<WeightMap> read_index(const std::string& text, const std::string& name);

}  // namespace cleave::pretrained
