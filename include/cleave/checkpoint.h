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
#include <map>
#include <string>

#include "cleave/nn.h"

namespace cleave {

using Metadata = std::map<std::string, std::string>;

CLEAVE_API void save_checkpoint(const std::string& path, const Store& store,
                                const Metadata& metadata = {});
CLEAVE_API Metadata load_checkpoint(const std::string& path, const Store& store);
// What inspect_checkpoint returns: the metadata and the tensors' names and types, without values.
struct CheckpointInfo {
  Metadata metadata;
  std::vector<std::pair<std::string, std::string>> tensors;  // name, "f32[2,3]"
};
CLEAVE_API CheckpointInfo inspect_checkpoint(const std::string& path);

// Which files load_weights accepts.
enum class Strictness : uint8_t {
  exact,        // exactly the names of the model
  ignore_extra  // every name of the model; extra ones (an optimizer's state) are ignored
};
// Loads a state_dict of PyTorch, or a checkpoint: the tensors under the names of `model.store()`.
// The file may hold a tied weight under one of its names, or under each with the same contents.
CLEAVE_API void load_weights(const std::string& path, const nn::Module& model,
                             Strictness strictness = Strictness::exact);
// Writes a state_dict for load_state_dict, with a tied weight under each of its names.
CLEAVE_API void save_weights(const std::string& path, const nn::Module& model,
                             const Metadata& metadata = {});

}  // namespace cleave
