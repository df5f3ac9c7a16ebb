// Weights in .safetensors files: a model's state_dict, and tensors by name.
//
//   load_weights("resnet18.safetensors", model);                       // exactly the model's names
//   LoadReport r = load_weights("backbone.safetensors", model,
//                               {.allow_missing = true, .allow_extra = true, .prefix = "module."});
//   save_weights("out.safetensors", model);                            // for load_state_dict
//
// Everything is read and checked before the first copy: an error leaves the model unchanged, and
// lists the names that are missing, that the model doesn't have, and that have another type.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cleave/nn.h"

namespace cleave {

using Metadata = std::map<std::string, std::string>;

struct LoadOptions {
  bool allow_missing = false;  // parameters and buffers that the file lacks keep their values
  bool allow_extra = false;    // tensors that the model lacks are skipped
  // Floating tensors of another floating dtype are converted, to nearest even.
  bool cast = false;
  // Removed from the names of the file; a name without it is extra. DistributedDataParallel saves
  // under "module.".
  std::string prefix = {};
  // The model's name for one of the file, after `prefix`; "" skips it. If unset, they are the same.
  std::function<std::string(const std::string&)> rename = {};
};

// Names of the model, and of the file as it spells them.
struct LoadReport {
  std::vector<std::string> loaded, missing, converted;  // of the model
  std::vector<std::string> extra;                       // of the file
};

// Loads a state_dict of PyTorch, or a checkpoint: the tensors under the names of `model.store()`.
// The file may hold a tied weight under one of its names, or under each with the same contents.
// Errors (user): a file that isn't valid .safetensors; what LoadOptions doesn't allow.
CLEAVE_API LoadReport load_weights(const std::string& path, const nn::Module& model,
                                   const LoadOptions& options = {});
// Writes a state_dict for load_state_dict, with a tied weight under each of its names.
CLEAVE_API void save_weights(const std::string& path, const nn::Module& model,
                             const Metadata& metadata = {});

using NamedTensors = std::map<std::string, HostTensor>;
CLEAVE_API NamedTensors load_tensors(const std::string& path);
CLEAVE_API void save_tensors(const std::string& path, const NamedTensors& tensors,
                             const Metadata& metadata = {});

}  // namespace cleave
