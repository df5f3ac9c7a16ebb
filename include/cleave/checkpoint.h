// Checkpoints: one .safetensors file with everything a run needs to go on bit for bit.
//
//   save_checkpoint("run.safetensors", step.store(), {{"text", "kjv.txt"}});
//   Metadata about = load_checkpoint("run.safetensors", step.store());
//
// The file holds each Variable once, under its first name: parameters and buffers under PyTorch's
// names, optimizer.*, optimizer.step and rng = (seed, step). Its metadata holds
// `cleave_checkpoint`,
// the version of this layout (1), and the caller's texts. It is written aside and renamed, so that
// an error, a full disk or a kill leaves the old file whole.
//
// Loading reads and checks everything first, then copies: an error leaves the store as it was. It
// lists the names that are missing, that are not the store's, and that have another type.
#pragma once
#include <map>
#include <string>

#include "cleave/nn.h"

namespace cleave {

using Metadata = std::map<std::string, std::string>;

CLEAVE_API void save_checkpoint(const std::string& path, const Store& store,
                                const Metadata& metadata = {});
CLEAVE_API Metadata load_checkpoint(const std::string& path, const Store& store);
// The metadata and the tensors' names and types alone.
struct CheckpointInfo {
  Metadata metadata;
  std::vector<std::pair<std::string, std::string>> tensors;  // name, "f32[2,3]"
};
CLEAVE_API CheckpointInfo inspect_checkpoint(const std::string& path);

// Which files load_weights takes.
enum class Strictness : uint8_t {
  exact,        // every name of the model, and no other
  ignore_extra  // every name of the model; others (an optimizer's state) are left
};
// A state_dict of PyTorch, or a checkpoint: the tensors under the names of `model.store()`. A tied
// weight may stand under each of its names, with the same contents, or under one of them.
CLEAVE_API void load_weights(const std::string& path, const nn::Module& model,
                             Strictness strictness = Strictness::exact);
// A state_dict for load_state_dict: a tied weight under each of its names.
CLEAVE_API void save_weights(const std::string& path, const nn::Module& model,
                             const Metadata& metadata = {});

}  // namespace cleave
