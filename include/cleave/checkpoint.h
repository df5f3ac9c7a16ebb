// Checkpoints: one .safetensors file with everything that a run needs to continue bit for bit.
//
//   save_checkpoint("run.safetensors", step.store(), {{"text", "kjv.txt"}});
//   Metadata about = load_checkpoint("run.safetensors", step.store());
//
// The file holds each Variable once, under its first name: parameters and buffers under PyTorch's
// names, optimizer.*, optimizer.step and rng = (seed, step). Its metadata holds
// `cleave_checkpoint`, the version of this layout (1), and the caller's texts. It is written to a
// temporary file that then replaces the old one, so that an error, a full disk or a kill leaves the
// old file intact.
//
// Loading reads and checks everything first, then copies: an error leaves the store unchanged. The
// error lists the names that are missing, that the store doesn't have, and that have another type.
#pragma once
#include "cleave/weights.h"

namespace cleave {

CLEAVE_API void save_checkpoint(const std::string& path, const Store& store,
                                const Metadata& metadata = {});
CLEAVE_API Metadata load_checkpoint(const std::string& path, const Store& store);

// A store whose names begin with `prefix` in the file.
struct PrefixedStore {
  std::string prefix;
  Store store;
};
// Several stores in one file, such as those of the two training steps of a GAN:
//   save_checkpoint("gan.safetensors", {{"generator.", g.store()}, {"critic.", d.store()}});
// Error (user): a name occurs twice with its prefix.
CLEAVE_API void save_checkpoint(const std::string& path, const std::vector<PrefixedStore>& stores,
                                const Metadata& metadata = {});
CLEAVE_API Metadata load_checkpoint(const std::string& path,
                                    const std::vector<PrefixedStore>& stores);

// What inspect_checkpoint returns: the metadata and the tensors' names and types, without values.
struct CheckpointInfo {
  Metadata metadata;
  std::vector<std::pair<std::string, std::string>> tensors;  // name, "f32[2,3]"
};
CLEAVE_API CheckpointInfo inspect_checkpoint(const std::string& path);

}  // namespace cleave
